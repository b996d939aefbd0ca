// Defines ChunkCoverage: whether the chunks of one transfer are all of it.
#pragma once

#include <cstdint>

#include "lib/base/status.h"
#include "lib/rpc/bulk/bulk_chunk.h"
#include "lib/rpc/bulk/coverage.h"

namespace paceline::rpc {

// Chunks come in any order, each byte once, and the last of them is marked. One a transfer.
class ChunkCoverage {
 public:
  ChunkCoverage() = default;
  explicit ChunkCoverage(uint64_t total_bytes) : total_bytes_(total_bytes) {}

  // InvalidArgument if `chunk` is of a slice of another size, lies outside of it, brings a byte
  // again, is marked as the last while bytes are missing, or comes after that one; and if more
  // stretches than limits::kStretchesMax lie apart. The transfer is then of no more use.
  Status Add(const ReceivedChunk& chunk);
  bool is_complete() const { return is_complete_; }
  uint64_t received_bytes() const { return received_bytes_; }

 private:
  uint64_t total_bytes_ = 0;
  uint64_t received_bytes_ = 0;
  bool is_complete_ = false;
  Coverage coverage_;
};

}  // namespace paceline::rpc
