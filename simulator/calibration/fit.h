// Defines FittedCluster: a simulator's cluster whose steps take as long as a recording's did.
#pragma once

#include <vector>

#include "lib/base/status.h"
#include "simulator/calibration/recording.h"

namespace paceline::simulator {

// From a time on a worker was slower or faster for long: steps take so many times as long as they
// do on the whole, with that jitter.
struct FittedChange {
  double at_seconds = 0;  // Of training, its slow first steps taken for usual ones.
  double factor = 1;
  std::vector<double> jitter;
};

struct FittedWorker {
  WorkerId worker;
  double speed = 1;                   // Of the fastest it is 1. At first, where it changes.
  std::vector<double> jitter;         // Of its steps, sorted; the mean is 1. At most kJitterMax.
  std::vector<FittedChange> changes;  // In order, the first from the start on; or none.
  uint64_t steps = 0;                 // That it was seen to make.
  Duration joined{};
  std::vector<RecordedAbsence> absences;
};

struct FittedCluster {
  // A step of b samples: (fixed + b x per_sample) / speed x jitter seconds.
  double fixed_seconds = 0, per_sample_seconds = 0;
  double latency_seconds = 0;  // Of each transfer, two a step.
  double commit_seconds = 0;
  std::vector<FittedWorker> workers;
};

inline constexpr size_t kJitterMax = 64;

// Workers that pushed nothing that can be told from a start (the first two pushes of each are left
// out: what they meet for the first time is slow) are left out. Where a worker's steps were slower
// or faster for long (level_changes.h), that is a change; within one each step draws its jitter by
// itself. InvalidArgument if no worker is left.
StatusOr<FittedCluster> Fit(const Recording& recording);

}  // namespace paceline::simulator
