// Defines EpochRange: positions [begin, end) of an epoch's order (epoch_order.h).
#pragma once

#include <cstdint>

namespace paceline {

struct EpochRange {
  uint64_t epoch = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  friend bool operator==(const EpochRange&, const EpochRange&) = default;
};

}  // namespace paceline
