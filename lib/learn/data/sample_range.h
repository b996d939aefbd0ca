// Defines SampleRange: which samples a step is made of.
#pragma once

#include <cstdint>

namespace paceline::learn {

// Positions [begin, end) of an epoch's order (lib/base/epoch_order.h).
struct SampleRange {
  uint64_t epoch = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

}  // namespace paceline::learn
