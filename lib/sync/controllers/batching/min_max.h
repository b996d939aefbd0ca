// Defines ShareToFinishTogether: the parts of a batch whose slowest is as fast as can be, for any
// workers whose time does not fall as their batch grows.
//
// Example:
//   const std::vector<TimeCurve> curves = {{.base = 0.1, .per_sample = 0.01}, {.per_sample =
//   0.03}}; ShareToFinishTogether(curves, 64, bounds)   // The first gets more, but for its 0.1 s.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/check.h"
#include "lib/sync/controllers/batching/apportion.h"

namespace paceline::sync {

// Seconds of a step of x samples: flat while the device is not filled, then a line.
struct TimeCurve {
  double base = 0;        // Seconds of the smallest step.
  double saturation = 0;  // Samples up to which more cost nothing.
  double per_sample = 0;  // Seconds of each beyond.
  double operator()(uint32_t samples) const {
    return base + per_sample * std::max(0.0, samples - saturation);
  }
};

// Minimises max_i curves[i](x_i) subject to sum x_i = total and the bounds, by bisection on the
// time T of the slowest: each worker takes as much as it does within T. The surplus that is left
// at the smallest T goes sample by sample from whoever would finish last. `Curve` is a function
// from samples to finite seconds that never falls. Needs sum(lo) <= total <= sum(hi).
template <class Curve>
std::vector<uint32_t> ShareToFinishTogether(std::span<const Curve> curves, uint64_t total,
                                            std::span<const Bounds> bounds) {
  constexpr int kHalvingsMax = 200;
  const size_t count = curves.size();
  PACELINE_CHECK(count == bounds.size() && count > 0, "{} curves, {} bounds", count, bounds.size());
  std::vector<uint32_t> least(count), most(count);  // Within the shorter time, and the longer.
  double shorter = std::numeric_limits<double>::infinity(), longer = -shorter;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    least[i] = bounds[i].lo;
    most[i] = static_cast<uint32_t>(std::min<uint64_t>(bounds[i].hi, total));
    shorter = std::min(shorter, curves[i](least[i]));
    longer = std::max(longer, curves[i](most[i]));
    sum += most[i];
  }
  PACELINE_CHECK(sum >= total, "{} is out of bounds", total);
  // The largest x with curve(x) <= time, between what fits a shorter time and a longer one.
  const auto within = [&](size_t i, double time) {
    uint32_t fits = least[i], tried = most[i];
    while (fits < tried) {
      const uint32_t middle = tried - (tried - fits) / 2;
      if (curves[i](middle) <= time) {
        fits = middle;
      } else {
        tried = middle - 1;
      }
    }
    return fits;
  };
  std::vector<uint32_t> found(count);
  for (int halving = 0; halving < kHalvingsMax && least != most; ++halving) {
    const double time = shorter + (longer - shorter) / 2;
    if (!(shorter < time && time < longer)) break;
    sum = 0;
    for (size_t i = 0; i < count; ++i) sum += found[i] = within(i, time);
    if (sum >= total) {
      most.swap(found);
      longer = time;
    } else {
      least.swap(found);
      shorter = time;
    }
  }
  std::vector<uint32_t> parts = most;
  sum = 0;
  for (const uint32_t part : parts) sum += part;
  // Among equals from the last, so that the first keep theirs.
  std::priority_queue<std::pair<double, size_t>> last_first;
  for (size_t i = 0; i < count; ++i) {
    if (parts[i] > bounds[i].lo) last_first.push({curves[i](parts[i]), i});
  }
  for (; sum > total && !last_first.empty(); --sum) {
    const size_t i = last_first.top().second;
    last_first.pop();
    if (--parts[i] > bounds[i].lo) last_first.push({curves[i](parts[i]), i});
  }
  return parts;
}

}  // namespace paceline::sync
