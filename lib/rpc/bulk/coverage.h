// Defines Coverage: which bytes of a payload have been written, in whatever order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace paceline::rpc {

// A value; one owner at a time. Costs a logarithm of the stretches that are apart.
class Coverage {
 public:
  // False if some of [begin, end) was there before: then, and for good, it is not complete.
  bool Add(uint64_t begin, uint64_t end) {
    if (begin >= end) return begin == end;
    auto next = stretches_.lower_bound(begin);
    const bool is_free = (next == stretches_.end() || next->first >= end) &&
                         (next == stretches_.begin() || std::prev(next)->second <= begin);
    if (!is_free) return !(is_broken_ = true);
    if (next != stretches_.end() && next->first == end) {
      end = next->second;
      next = stretches_.erase(next);
    }
    if (next != stretches_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = end;
    } else {
      stretches_.emplace_hint(next, begin, end);
    }
    return true;
  }

  size_t stretches() const { return stretches_.size(); }  // That are apart from each other.

  // Exactly [0, size), each byte once.
  bool IsComplete(uint64_t size) const {
    if (is_broken_) return false;
    if (stretches_.empty()) return size == 0;
    return stretches_.size() == 1 && stretches_.begin()->first == 0 &&
           stretches_.begin()->second == size;
  }

 private:
  std::map<uint64_t, uint64_t> stretches_;  // Apart from each other: begin, end.
  bool is_broken_ = false;
};

}  // namespace paceline::rpc
