#include "lib/coordination/ledgers/interval_set.h"

#include <algorithm>
#include <iterator>

#include "lib/base/check.h"

namespace paceline::coordination {

bool IntervalSet::Overlaps(uint64_t begin, uint64_t end) const {
  if (begin >= end) return false;
  auto after = intervals_.lower_bound(end);
  return after != intervals_.begin() && std::prev(after)->second > begin;
}

void IntervalSet::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  PACELINE_CHECK(!Overlaps(begin, end), "interval [{}, {}) is partly there", begin, end);
  size_ += end - begin;
  auto after = intervals_.lower_bound(begin);
  if (after != intervals_.end() && after->first == end) {
    end = after->second;
    after = intervals_.erase(after);
  }
  if (after != intervals_.begin() && std::prev(after)->second == begin) {
    std::prev(after)->second = end;
  } else {
    intervals_.emplace_hint(after, begin, end);
  }
}

bool IntervalSet::Contains(uint64_t begin, uint64_t end) const {
  if (begin >= end) return true;
  const auto after = intervals_.upper_bound(begin);
  return after != intervals_.begin() && std::prev(after)->second >= end;
}

void IntervalSet::Take(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  PACELINE_CHECK(Contains(begin, end), "interval [{}, {}) is not there", begin, end);
  const auto found = std::prev(intervals_.upper_bound(begin));
  const uint64_t last = found->second;
  size_ -= end - begin;
  if (found->first == begin) {
    intervals_.erase(found);
  } else {
    found->second = begin;
  }
  if (end < last) intervals_.emplace(end, last);
}

std::pair<uint64_t, uint64_t> IntervalSet::TakeFront(uint64_t count) {
  PACELINE_CHECK(!intervals_.empty(), "taking {} from an empty set", count);
  const auto [begin, end] = *intervals_.begin();
  const uint64_t cut = begin + std::min(count, end - begin);
  intervals_.erase(intervals_.begin());
  if (cut < end) intervals_.emplace_hint(intervals_.begin(), cut, end);
  size_ -= cut - begin;
  return {begin, cut};
}

}  // namespace paceline::coordination
