// Defines DataCounts: how far batches were there before they were needed.
#pragma once

#include <cstdint>

namespace paceline::learn {

struct DataCounts {
  uint64_t expected = 0;  // Batches that were, when they were needed...
  uint64_t ready = 0;     // ...and of those, prepared by then, or in work.
  uint64_t gathered = 0;  // Batches that were not ready.
  uint64_t in_vain = 0;   // Prepared, or in work, and never needed.
  friend bool operator==(const DataCounts&, const DataCounts&) = default;
};

}  // namespace paceline::learn
