// Defines Played: a life of the simulator, as the policy's trace tells it, and what tests of
// schemes on a virtual clock look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"
#include "lib/sync/schemes/policy_spec.h"
#include "simulator/driver/cluster.h"

namespace paceline::papers {

// What the policy was told, and what it decided.
struct Moment {
  double seconds = 0;
  sync::Event event;
  std::vector<sync::Decision> decisions;
};

struct Played {
  sync::PolicySpec spec;
  std::vector<Moment> moments;
};

// A life that cannot be simulated ends its test.
Played Play(simulator::ClusterOptions options);

// Between two commits, of what counts.
struct Round {
  double seconds = 0;
  std::map<WorkerId, uint32_t> steps;  // Credited to it.
  std::vector<double> weights;         // Of its pushes...
  std::map<WorkerId, double> shares;   // ...and their sums.
};

std::vector<Round> RoundsOf(const Played& played);
// Over all rounds but the first `skipped`.
double MeanRound(const std::vector<Round>& rounds, size_t skipped);
double MeanSteps(const std::vector<Round>& rounds, WorkerId worker, size_t skipped);

// A worker whose step takes so long, whatever its batch is.
simulator::ComputeModel StepOf(double seconds);

}  // namespace paceline::papers
