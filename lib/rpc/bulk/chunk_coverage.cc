#include "lib/rpc/bulk/chunk_coverage.h"

#include "lib/base/limits.h"

namespace paceline::rpc {

Status ChunkCoverage::Add(const ReceivedChunk& chunk) {
  const ChunkHeader& header = chunk.header();
  const uint64_t offset = header.offset_bytes;
  const uint64_t size = chunk.size_bytes();
  if (header.total_bytes != total_bytes_) {
    return InvalidArgument("size of the slice differs: got {} bytes, want {}", header.total_bytes,
                           total_bytes_);
  }
  if (is_complete_) return InvalidArgument("chunk comes after the last one: offset {}", offset);
  if (offset > total_bytes_ || size > total_bytes_ - offset) {
    return InvalidArgument("chunk lies outside of the slice: {} bytes at {}, slice has {}", size,
                           offset, total_bytes_);
  }
  if (!coverage_.Add(offset, offset + size))
    return InvalidArgument("chunk brings bytes again: {} bytes at {}", size, offset);
  if (coverage_.stretches() > limits::kStretchesMax) {
    return InvalidArgument("chunks lie apart: {} stretches are the most", limits::kStretchesMax);
  }
  received_bytes_ += size;
  if (header.is_last && received_bytes_ != total_bytes_) {
    return InvalidArgument("last chunk came before all bytes: {} of {} bytes", received_bytes_,
                           total_bytes_);
  }
  is_complete_ = header.is_last;
  return OkStatus();
}

}  // namespace paceline::rpc
