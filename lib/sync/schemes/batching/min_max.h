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
#include "lib/sync/schemes/batching/apportion.h"

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

// What ShareToFinishTogether knows: each part lies between what fits a time that is too short and
// one that is long enough. A part of which both are the same is settled and looked at no more,
// which nearly all are after a few halvings.
template <class Curve>
class FinishTimeSearch {
 public:
  FinishTimeSearch(std::span<const Curve> curves, uint64_t total, std::span<const Bounds> bounds)
      : curves_(curves), total_(total), least_(curves.size()), most_(curves.size()) {
    uint64_t sum = 0;
    for (size_t i = 0; i < curves.size(); ++i) {
      least_[i] = bounds[i].lo;
      most_[i] = static_cast<uint32_t>(std::min<uint64_t>(bounds[i].hi, total));
      shorter_ = std::min(shorter_, curves[i](least_[i]));
      longer_ = std::max(longer_, curves[i](most_[i]));
      sum += most_[i];
      if (!Settle(i)) open_.push_back(i);
    }
    PACELINE_CHECK(sum >= total, "{} is out of bounds", total);
  }

  // The parts at the shortest time that is long enough; a few samples too many.
  std::vector<uint32_t> Run() && {
    constexpr int kHalvingsMax = 200;
    double time = TimeOfEqualParts();  // Whole batches take far longer.
    for (int halving = 0; halving < kHalvingsMax && !open_.empty(); ++halving) {
      if (!IsBetween(time)) time = shorter_ + (longer_ - shorter_) / 2;
      if (!IsBetween(time)) break;
      Try(time);
      time = shorter_ + (longer_ - shorter_) / 2;
    }
    return std::move(most_);
  }

 private:
  bool IsBetween(double time) const { return shorter_ < time && time < longer_; }

  double TimeOfEqualParts() const {
    const auto mean = static_cast<uint32_t>(total_ / curves_.size() + 1);
    double time = shorter_;
    for (size_t i = 0; i < curves_.size(); ++i)
      time = std::max(time, curves_[i](std::clamp(mean, least_[i], most_[i])));
    return time;
  }

  bool Settle(size_t i) {
    if (least_[i] != most_[i]) return false;
    settled_ += most_[i];
    return true;
  }

  void Try(double time) {
    std::vector<uint32_t> found;
    found.reserve(open_.size());
    uint64_t sum = settled_;
    for (const size_t i : open_) sum += found.emplace_back(Within(i, time));
    const bool is_enough = sum >= total_;
    (is_enough ? longer_ : shorter_) = time;
    std::vector<uint32_t>& parts = is_enough ? most_ : least_;
    for (size_t at = 0; at < open_.size(); ++at) parts[open_[at]] = found[at];
    std::erase_if(open_, [this](size_t i) { return Settle(i); });
  }

  // The largest x with curve(x) <= time.
  uint32_t Within(size_t i, double time) const {
    uint32_t fits = least_[i], tried = most_[i];
    while (fits < tried) {
      const uint32_t middle = tried - (tried - fits) / 2;
      if (curves_[i](middle) <= time) {
        fits = middle;
      } else {
        tried = middle - 1;
      }
    }
    return fits;
  }

  std::span<const Curve> curves_;
  uint64_t total_;
  std::vector<uint32_t> least_, most_;  // Within the shorter time, and the longer.
  double shorter_ = std::numeric_limits<double>::infinity(), longer_ = -shorter_;
  std::vector<size_t> open_;
  uint64_t settled_ = 0;  // The parts of those who are, together.
};

// Minimises max_i curves[i](x_i) subject to sum x_i = total and the bounds, by bisection on the
// time T of the slowest: each worker takes as much as it does within T. The surplus that is left
// at the smallest T goes sample by sample from whoever would finish last. `Curve` is a function
// from samples to finite seconds that never falls. Needs sum(lo) <= total <= sum(hi).
template <class Curve>
std::vector<uint32_t> ShareToFinishTogether(std::span<const Curve> curves, uint64_t total,
                                            std::span<const Bounds> bounds) {
  const size_t count = curves.size();
  PACELINE_CHECK(count == bounds.size() && count > 0, "{} curves, {} bounds", count, bounds.size());
  std::vector<uint32_t> parts = FinishTimeSearch<Curve>(curves, total, bounds).Run();
  uint64_t sum = 0;
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
