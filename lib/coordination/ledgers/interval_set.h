// Defines IntervalSet: a set of numbers kept as disjoint half-open intervals, neighbours joined.
//
// Example:
//   IntervalSet set;
//   set.Add(0, 10);
//   set.TakeFront(4);   // {0, 4}; 6 numbers remain
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace paceline::coordination {

// A value. All operations take time in the logarithm of the number of intervals.
class IntervalSet {
 public:
  // Adds [begin, end), which must not overlap what is there. Empty: nothing happens.
  void Add(uint64_t begin, uint64_t end);

  // Takes the lowest numbers, at most `count` and at most the first interval. The set must not be
  // empty.
  std::pair<uint64_t, uint64_t> TakeFront(uint64_t count);

  // Takes [begin, end), all of which must be there.
  void Take(uint64_t begin, uint64_t end);

  bool Overlaps(uint64_t begin, uint64_t end) const;
  bool Contains(uint64_t begin, uint64_t end) const;  // All of it.
  uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::map<uint64_t, uint64_t>& intervals() const { return intervals_; }  // Begin to end.

 private:
  std::map<uint64_t, uint64_t> intervals_;
  uint64_t size_ = 0;
};

}  // namespace paceline::coordination
