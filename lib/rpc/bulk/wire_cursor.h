// Defines WireCursor: reads protobuf's wire format from the slices that gRPC received, without
// joining them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <grpcpp/support/slice.h>

#include "lib/base/status.h"

namespace paceline::rpc {

// Wire types of protobuf's encoding.
inline constexpr uint32_t kVarintType = 0;
inline constexpr uint32_t kFixed64Type = 1;
inline constexpr uint32_t kLengthType = 2;
inline constexpr uint32_t kFixed32Type = 5;

// Every read is InvalidArgument where the bytes end too early or are malformed; the cursor is then
// of no more use.
class WireCursor {
 public:
  explicit WireCursor(const std::vector<grpc::Slice>& slices);  // Which must outlive the cursor.

  bool AtEnd() const { return left_ == 0; }

  struct Tag {
    uint32_t field = 0;
    uint32_t type = 0;
  };
  StatusOr<Tag> ReadTag();
  StatusOr<uint64_t> ReadVarint();
  StatusOr<uint64_t> ReadLength();  // Of what follows, all of which is there.
  StatusOr<std::string> ReadString();
  Status Skip(uint64_t size);
  Status SkipField(uint32_t type);

  // Where the next byte lies, if Settle was called last.
  void Settle();  // Moves past slices that are used up.
  size_t slice() const { return slice_; }
  size_t byte() const { return byte_; }

 private:
  const std::vector<grpc::Slice>& slices_;
  size_t slice_ = 0;
  size_t byte_ = 0;
  uint64_t left_ = 0;
};

}  // namespace paceline::rpc
