// Defines the hand-made encoding of paceline.v1.Chunk: the same bytes as the generated class,
// without its copies.
//
// Going out, the data is borrowed; coming in, it is copied once, from the received slices to its
// destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/base/wire_type.h"

namespace paceline::rpc {

// A chunk of this size keeps slices in the processor's cache, and is large enough to hide the cost
// of a message.
inline constexpr uint64_t kChunkBytes = 1 << 19;

enum class ChunkKind { kPush = 1, kFill = 2, kPullAnswer = 3 };

// All of a Chunk but its data; proto/paceline/v1/chunk.proto says what each means for which kind.
struct ChunkHeader {
  ChunkKind kind = ChunkKind::kPush;
  uint64_t transfer = 0;
  Generation generation;
  WorkerId worker;
  Incarnation incarnation;
  Sequence sequence;
  Version version;
  uint64_t offset_bytes = 0;
  uint64_t total_bytes = 0;
  bool is_last = false;
  bool is_superseded = false;
  StatusCode code = StatusCode::kOk;
  std::string message;
  WireType type = WireType::kFloat32;  // Of the data.
  bool is_average = false;
  friend bool operator==(const ChunkHeader&, const ChunkHeader&) = default;
};

// `owner` keeps the memory of `data` alive and unchanged until gRPC lets go of it, which may be
// after the call has failed.
grpc::ByteBuffer EncodeChunk(const ChunkHeader& header, std::span<const std::byte> data,
                             std::shared_ptr<const void> owner);

// A received chunk; holds the slices that its data lies in.
class ReceivedChunk {
 public:
  // InvalidArgument if the bytes are no Chunk, or of an unknown kind or code. Unknown fields are
  // skipped.
  static StatusOr<ReceivedChunk> Decode(const grpc::ByteBuffer& bytes);

  const ChunkHeader& header() const { return header_; }
  uint64_t data_bytes() const { return data_bytes_; }  // That have travelled.
  uint64_t size_bytes() const {                        // Of the part of the slice that they are.
    return header_.type == WireType::kBfloat16 ? 2 * data_bytes_ : data_bytes_;
  }

  // Writes the data to where it belongs in `slice`, the whole slice, as Float32. InvalidArgument,
  // and nothing is written, if it does not lie within; or, if it is of another type, not within
  // its first `rounded_end` bytes, which are Float32.
  Status CopyInto(std::span<std::byte> slice, uint64_t rounded_end = 0) const;

 private:
  Status CheckPlace(uint64_t slice_bytes, uint64_t rounded_end) const;
  void WidenInto(std::span<std::byte> part) const;

  ChunkHeader header_;
  std::vector<grpc::Slice> slices_;
  size_t first_slice_ = 0;  // Where the data begins.
  size_t first_byte_ = 0;
  uint64_t data_bytes_ = 0;
};

// Checks that the chunks of one transfer follow each other without gaps. One a transfer.
class ChunkSequence {
 public:
  ChunkSequence() = default;
  explicit ChunkSequence(uint64_t total_bytes) : total_bytes_(total_bytes) {}

  // InvalidArgument, naming both numbers, if `chunk` is not the next one; the state is then
  // unchanged.
  Status Add(const ReceivedChunk& chunk);
  bool is_complete() const { return is_complete_; }
  uint64_t received_bytes() const { return received_bytes_; }

 private:
  uint64_t total_bytes_ = 0;
  uint64_t received_bytes_ = 0;
  bool is_complete_ = false;
};

}  // namespace paceline::rpc
