// Defines UsualGap: which of the gaps between a script's steps are pauses.
//
// What a script does for each step, loading and preparing, is a part of its speed. What it does now
// and then, an evaluation or a saved file, says nothing of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lib/base/time.h"

namespace paceline::worker {

// A value. One owner at a time.
class UsualGap {
 public:
  // The next gap: whether it is a pause, more than ten times the median of those before. The first
  // three are not.
  bool IsPause(Duration gap) {
    bool is_pause = false;
    if (known_.size() >= kLeast) {
      std::vector<Duration> sorted = known_;
      const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
      std::ranges::nth_element(sorted, middle);
      is_pause = gap > kTimes * *middle;
    }
    if (known_.size() < kMost) {
      known_.push_back(gap);
    } else {
      known_[next_++ % kMost] = gap;
    }
    return is_pause;
  }

 private:
  static constexpr size_t kLeast = 3, kMost = 31;
  static constexpr int kTimes = 10;
  std::vector<Duration> known_;  // The newest.
  size_t next_ = 0;
};

}  // namespace paceline::worker
