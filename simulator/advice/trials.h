// Defines Trials: lives of one arm on a cluster, at the job's learning rate and at the best of its
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "simulator/driver/cluster.h"

namespace paceline::simulator {

// What is left of a life.
struct Outcome {
  Ending ending = Ending::kSteps;
  double seconds = 0;
  double step_seconds = 0;  // Mean, of a version.
  bool reached() const { return ending == Ending::kTarget; }
};

struct Trials {
  std::vector<Outcome> equal;  // At the rate of `cluster`, by seed.
  std::vector<Outcome> best;   // At that times `factor`, with which it was fastest.
  double factor = 1;
};

// Powers of two between these are looked for.
inline constexpr double kLeastFactor = 1.0 / 16, kMostFactor = 32;

// Lives of `policy` with the seeds 1 to `seeds`, all else being `cluster`'s. From the job's rate on
// rates are doubled, or else halved, as long as that is better. Errors are Simulate's.
StatusOr<Trials> Try(const ClusterOptions& cluster, const sync::PolicySpec& policy, uint32_t seeds);

// Fewer lives of it fail, or as few, and it is faster in the median.
bool IsBetter(const std::vector<Outcome>& a, const std::vector<Outcome>& b);

// The median; infinite if half of them or more do not reach the goal.
double MedianSeconds(const std::vector<Outcome>& outcomes);

}  // namespace paceline::simulator
