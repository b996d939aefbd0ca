#include "lib/rpc/bulk/wire_cursor.h"

#include <algorithm>

namespace paceline::rpc {

WireCursor::WireCursor(const std::vector<grpc::Slice>& slices) : slices_(slices) {
  for (const grpc::Slice& slice : slices_) left_ += slice.size();
}

void WireCursor::Settle() {
  while (slice_ < slices_.size() && byte_ == slices_[slice_].size()) {
    ++slice_;
    byte_ = 0;
  }
}

StatusOr<WireCursor::Tag> WireCursor::ReadTag() {
  PACELINE_ASSIGN_OR_RETURN(const uint64_t tag, ReadVarint());
  if (tag > UINT32_MAX || tag >> 3 == 0)
    return InvalidArgument("message is malformed: tag {}", tag);
  return Tag{.field = static_cast<uint32_t>(tag >> 3), .type = static_cast<uint32_t>(tag & 7)};
}

StatusOr<uint64_t> WireCursor::ReadVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (left_ == 0) return InvalidArgument("message ends within a number");
    Settle();
    const uint8_t byte = slices_[slice_].begin()[byte_++];
    --left_;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return InvalidArgument("message is malformed: number of more than ten bytes");
}

StatusOr<uint64_t> WireCursor::ReadLength() {
  PACELINE_ASSIGN_OR_RETURN(const uint64_t length, ReadVarint());
  if (length > left_)
    return InvalidArgument("message ends too early: {} bytes of {}", left_, length);
  return length;
}

StatusOr<std::string> WireCursor::ReadString() {
  PACELINE_ASSIGN_OR_RETURN(uint64_t length, ReadLength());
  std::string text;
  text.reserve(length);
  while (length > 0) {
    Settle();
    const size_t size = std::min<uint64_t>(slices_[slice_].size() - byte_, length);
    text.append(reinterpret_cast<const char*>(slices_[slice_].begin()) + byte_, size);
    byte_ += size;
    left_ -= size;
    length -= size;
  }
  return text;
}

Status WireCursor::Skip(uint64_t size) {
  if (size > left_) return InvalidArgument("message ends too early: {} bytes of {}", left_, size);
  while (size > 0) {
    Settle();
    const size_t step = std::min<uint64_t>(slices_[slice_].size() - byte_, size);
    byte_ += step;
    left_ -= step;
    size -= step;
  }
  return OkStatus();
}

Status WireCursor::SkipField(uint32_t type) {
  switch (type) {
    case kVarintType:
      return ReadVarint().status();
    case kFixed64Type:
      return Skip(8);
    case kFixed32Type:
      return Skip(4);
    case kLengthType: {
      PACELINE_ASSIGN_OR_RETURN(const uint64_t length, ReadLength());
      return Skip(length);
    }
    default:
      return InvalidArgument("message is malformed: wire type {}", type);
  }
}

}  // namespace paceline::rpc
