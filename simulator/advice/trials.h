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

struct TryOptions {
  uint32_t seeds = 9;  // At least 1.
  // Where lives are dear: other rates are tried with so many of the seeds, and only the one that
  // was found, if it is better with all, with the others. 0: with all.
  uint32_t seeds_searching = 0;
  // Likewise: at another rate a life has failed once it takes so many times as long as the slowest
  // one at the best rate until then. 0: it has not.
  double give_up_times = 0;
};

// Lives of `policy` with the seeds 1 to `seeds`, all else being `cluster`'s. From the job's rate on
// rates are doubled, or else halved, as long as that is better. Errors are Simulate's.
StatusOr<Trials> Try(const ClusterOptions& cluster, const sync::PolicySpec& policy,
                     const TryOptions& options);

// What others may take: so many times what the slowest life of the recorded scheme took, or
// `before` where one of them did not reach the goal.
double SecondsForOthers(const Trials& recorded, double before);
inline constexpr double kOthersTimes = 5;

// Fewer lives of it fail, or as few, and it is faster in the median.
bool IsBetter(const std::vector<Outcome>& a, const std::vector<Outcome>& b);

// The median; infinite if half of them or more do not reach the goal.
double MedianSeconds(const std::vector<Outcome>& outcomes);

}  // namespace paceline::simulator
