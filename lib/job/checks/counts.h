// Sums and products of counts that a user wrote. Where one is out of its bounds, which is found by
// itself and hides what is derived from it, the result is any number, and nothing overflows.
#pragma once

#include <cstdint>

namespace paceline::job {

inline int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

inline int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace paceline::job
