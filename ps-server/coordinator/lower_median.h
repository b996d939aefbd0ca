// Defines LowerMedian: the lower median of values that come and go.
#pragma once

#include <cstddef>
#include <iterator>
#include <set>

namespace paceline::ps {

// A value. Adding and removing take O(log n), the median O(1). No value is NaN.
class LowerMedian {
 public:
  void Add(double value) {
    (low_.empty() || value <= *low_.rbegin() ? low_ : high_).insert(value);
    Balance();
  }

  // One of those that equal `value`, of which there is one.
  void Remove(double value) {
    std::multiset<double>& side = value <= *low_.rbegin() ? low_ : high_;
    side.erase(side.find(value));
    Balance();
  }

  size_t size() const { return low_.size() + high_.size(); }
  // Of a sorted list of n the (n - 1) / 2th, from 0. There is one.
  double value() const { return *low_.rbegin(); }

 private:
  // `low_` has as many as `high_`, or one more; none of it is larger than any of `high_`.
  void Balance() {
    if (low_.size() > high_.size() + 1) {
      high_.insert(low_.extract(std::prev(low_.end())));
    } else if (low_.size() < high_.size()) {
      low_.insert(high_.extract(high_.begin()));
    }
  }

  std::multiset<double> low_;
  std::multiset<double> high_;
};

}  // namespace paceline::ps
