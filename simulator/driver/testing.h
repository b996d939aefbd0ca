// Defines what the tests of simulated lives share.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simulator/driver/cluster.h"

namespace paceline::simulator::testing {

// Workers of those speeds, whose step of ten samples takes a second at speed 1.
inline ClusterOptions Of(const std::string& policy, const std::vector<double>& speeds) {
  ClusterOptions options;
  options.policy = *sync::ParsePolicySpec(policy);
  options.policy.global_batch_size = static_cast<uint32_t>(10 * speeds.size());
  for (const double speed : speeds)
    options.workers.push_back({.per_sample_seconds = 0.1, .speed = speed});
  options.steps_max = 50;
  return options;
}

// One that fails ends its test, and no other.
inline Life Lived(const ClusterOptions& options) {
  StatusOr<Life> life = Simulate(options);
  if (!life.ok()) throw std::runtime_error(life.status().ToString());
  return *std::move(life);
}

inline double MeanStep(const Life& life) {
  return life.versions.back().at_seconds / static_cast<double>(life.versions.size());
}

// What a worker alone learns in so many steps of ten samples.
inline std::vector<double> LossesAlone(const ClusterOptions& like, uint64_t steps) {
  ClusterOptions options = Of("BSP", {1});
  options.objective = like.objective;
  options.momentum = like.momentum;
  options.learning_rate = like.learning_rate;
  options.seed = like.seed;
  options.steps_max = steps;
  std::vector<double> losses;
  for (const VersionFacts& version : Lived(options).versions) losses.push_back(version.loss);
  return losses;
}

}  // namespace paceline::simulator::testing
