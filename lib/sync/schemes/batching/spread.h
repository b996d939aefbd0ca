// Defines SpreadOfTimes: how unequal the workers of a step are.
#pragma once

#include <algorithm>

namespace paceline::sync {

// How far the slowest worker's time is from the fastest's, in relation to their mean.
class SpreadOfTimes {
 public:
  void Add(double seconds) {
    least_ = count_ == 0 ? seconds : std::min(least_, seconds);
    most_ = std::max(most_, seconds);
    sum_ += seconds;
    ++count_;
  }
  double OfMean() const { return sum_ > 0 ? (most_ - least_) * count_ / sum_ : 0; }

 private:
  double least_ = 0, most_ = 0, sum_ = 0;
  int count_ = 0;
};

}  // namespace paceline::sync
