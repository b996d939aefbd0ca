// Defines FitCurve: the time curve that batches of several sizes show.
//
// Example:
//   FitCurve({{{.samples = 50, .seconds = 1}, {.samples = 100, .seconds = 1},
//              {.samples = 200, .seconds = 2}}})    // 1 s up to 100 samples, 10 ms for each
//              beyond.
#pragma once

#include <span>

#include "lib/sync/schemes/batching/min_max.h"

namespace paceline::sync {

// What steps of one size took.
struct TimedSize {
  double samples = 0;  // Positive, as are the others.
  double seconds = 0;  // Of computing one step.
  double weight = 0;   // How much it counts beside the others.
  friend bool operator==(const TimedSize&, const TimedSize&) = default;
};

// Least squares of relative errors: times are off by a share of themselves. `sizes` ascend, one at
// least. The work grows with the square of their number.
//
// A line with a base, unless a knee explains the times much better: some devices have none, and
// noise can always be followed more closely with one number more. What sizes cannot tell is taken
// from what devices are like. More samples never take less time, and never more time a sample:
// through one size goes the line through nothing, and beyond sizes that all took the same time each
// sample takes what it took at the largest.
TimeCurve FitCurve(std::span<const TimedSize> sizes);

}  // namespace paceline::sync
