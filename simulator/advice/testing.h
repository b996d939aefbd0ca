// Defines what the tests of advice share: a recording of a simulated life, and a job of it.
#pragma once

#include <cstdint>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "simulator/driver/testing.h"

namespace paceline::simulator::testing {

// The trace of so many versions under `policy`, by workers of those speeds whose steps are of
// different lengths; the first one's speed changes as `changes` say.
inline std::string TraceOf(const std::string& policy, const std::vector<double>& speeds,
                           uint64_t versions, std::vector<SpeedChange> changes = {}) {
  ClusterOptions options = Of(policy, speeds);
  for (ComputeModel& worker : options.workers) worker.jitter = Lognormal{1, 0.2};
  options.workers.front().changes = std::move(changes);
  options.network.latency_seconds = 0.01;
  options.steps_max = versions;
  std::string trace;
  options.trace = [&trace](std::string_view line) { trace.append(line).push_back('\n'); };
  Lived(options);
  return trace;
}

// Of six workers that are alike but for steps of very different lengths, so that on the quadratic
// it is best not to wait for all.
inline const std::string& IrregularTrace() {
  static const std::string trace = [] {
    ClusterOptions options = Of("BSP", std::vector<double>(6, 1));
    for (ComputeModel& worker : options.workers) worker.jitter = Lognormal{1, 0.8};
    options.steps_max = 60;
    std::string text;
    options.trace = [&text](std::string_view line) { text.append(line).push_back('\n'); };
    Lived(options);
    return text;
  }();
  return trace;
}

// The trace, where all but a tenth of what pushes computed was injected.
inline std::string Injected(const std::string& trace) {
  static const std::regex compute(R"( compute=([0-9.e+-]+))");
  std::string text;
  auto from = trace.cbegin();
  for (std::sregex_iterator at(trace.begin(), trace.end(), compute), end; at != end; ++at) {
    text.append(from, (*at)[0].second);
    text += fmt::format(" injected={:.6f}", 0.9 * std::stod((*at)[1]));
    from = (*at)[0].second;
  }
  return text.append(from, trace.cend());
}

// As a run's folder has it. `optimizer` and `training` are put where they belong, in JSON.
inline std::string JobOf(size_t workers, const std::string& optimizer,
                         const std::string& training = "") {
  return fmt::format(
      R"({{"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob",
          "metadata": {{"name": "recorded"}},
          "spec": {{"sync": {{"scheme": "BSP"}},
                   "training": {{"globalBatchSize": {}, "optimizer": {},
                                "learningRate": {{"base": 0.25}}, "stop": {{"maxEpochs": 3}} {}}},
                   "workers": {{"replicas": {}, "command": ["train"]}}}}}})",
      10 * workers, optimizer, training, workers);
}

// That job, whose rate rises for so many global batches first.
inline std::string WithWarmUp(std::string job, uint64_t steps) {
  constexpr std::string_view kBase = R"("base": 0.25)";
  return job.insert(job.find(kBase) + kBase.size(), fmt::format(R"(, "warmupSteps": {})", steps));
}

}  // namespace paceline::simulator::testing
