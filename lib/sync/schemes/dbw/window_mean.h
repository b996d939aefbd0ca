// Defines WindowMean: the mean of the last D values.
#pragma once

#include <cstddef>
#include <deque>
#include <numeric>
#include <vector>

namespace paceline::sync {

class WindowMean {
 public:
  explicit WindowMean(size_t width) : width_(width) {}

  void Add(double value) {
    values_.push_back(value);
    if (values_.size() > width_) values_.pop_front();
  }

  bool is_empty() const { return values_.empty(); }
  // Summed afresh, so that nothing of values long gone is left; 0 if empty.
  double Mean() const {
    if (values_.empty()) return 0;
    return std::accumulate(values_.begin(), values_.end(), 0.0) /
           static_cast<double>(values_.size());
  }
  const std::deque<double>& values() const { return values_; }

 private:
  size_t width_;
  std::deque<double> values_;
};

}  // namespace paceline::sync
