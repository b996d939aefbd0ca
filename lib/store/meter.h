// Defines Meter: a count of work that is done, by which others tell slow from stuck.
#pragma once

#include <atomic>
#include <cstdint>

namespace paceline::store {

// Only ever grows. Thread-safe.
class Meter {
 public:
  void Add(uint64_t done) { total_.fetch_add(done, std::memory_order_relaxed); }
  uint64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> total_ = 0;
};

// Nothing where nobody counts.
inline void Count(Meter* meter, uint64_t done) {
  if (meter != nullptr) meter->Add(done);
}

}  // namespace paceline::store
