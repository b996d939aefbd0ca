// Defines EventQueue: what is going to happen, in order of its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/time.h"

namespace paceline::simulator {

// What happens at the same time happens in the order in which it was put in, on every machine. One
// owner; a happening is never taken out: who puts in what may become void checks when it comes.
// O(log n), and no memory is asked for once it was as full.
template <class Happening>
class EventQueue {
 public:
  void Put(Time at, Happening happening) {
    heap_.push_back({at, ++order_, std::move(happening)});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  std::optional<Time> NextAt() const {
    return heap_.empty() ? std::nullopt : std::optional(heap_.front().at);
  }
  // The first one and its time. There is one.
  std::pair<Time, Happening> Take() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Entry first = std::move(heap_.back());
    heap_.pop_back();
    return {first.at, std::move(first.happening)};
  }

 private:
  struct Entry {
    Time at;
    uint64_t order;
    Happening happening;
  };
  static bool Later(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  std::vector<Entry> heap_;
  uint64_t order_ = 0;
};

}  // namespace paceline::simulator
