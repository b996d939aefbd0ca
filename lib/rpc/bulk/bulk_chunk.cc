#include "lib/rpc/bulk/bulk_chunk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/rpc/bulk/wire_cursor.h"
#include "lib/store/kernels.h"

namespace paceline::rpc {
namespace {

// Field numbers of paceline.v1.Chunk.
enum Field : uint32_t {
  kKind = 1,
  kTransfer = 2,
  kGenerationStart = 3,
  kGenerationCounter = 4,
  kWorker = 5,
  kIncarnation = 6,
  kSequence = 7,
  kVersion = 8,
  kOffset = 9,
  kTotal = 10,
  kIsLast = 11,
  kIsSuperseded = 12,
  kCode = 13,
  kMessage = 14,
  kData = 15,
  kType = 16,
  kIsAverage = 17,
};

void AppendVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// proto3: zero is not written.
void AppendNumber(std::string& out, Field field, uint64_t value) {
  if (value == 0) return;
  AppendVarint(out, field << 3 | kVarintType);
  AppendVarint(out, value);
}

void AppendLength(std::string& out, Field field, size_t size) {
  out.push_back(static_cast<char>(field << 3 | kLengthType));
  AppendVarint(out, size);
}

std::string EncodeHeader(const ChunkHeader& header, size_t data_size) {
  std::string out;
  out.reserve(128 + header.message.size());
  AppendNumber(out, kKind, static_cast<uint64_t>(header.kind));
  AppendNumber(out, kTransfer, header.transfer);
  AppendNumber(out, kGenerationStart, header.generation.start);
  AppendNumber(out, kGenerationCounter, header.generation.counter);
  AppendNumber(out, kWorker, header.worker.value());
  AppendNumber(out, kIncarnation, header.incarnation.value());
  AppendNumber(out, kSequence, header.sequence.value());
  AppendNumber(out, kVersion, header.version.value());
  AppendNumber(out, kOffset, header.offset_bytes);
  AppendNumber(out, kTotal, header.total_bytes);
  AppendNumber(out, kIsLast, header.is_last ? 1 : 0);
  AppendNumber(out, kIsSuperseded, header.is_superseded ? 1 : 0);
  AppendNumber(out, kCode, static_cast<uint64_t>(header.code));
  AppendNumber(out, kType, static_cast<uint64_t>(header.type));
  AppendNumber(out, kIsAverage, header.is_average ? 1 : 0);
  if (!header.message.empty()) {
    AppendLength(out, kMessage, header.message.size());
    out += header.message;
  }
  if (data_size > 0) AppendLength(out, kData, data_size);
  return out;
}

void ReleaseOwner(void* owner) { delete static_cast<std::shared_ptr<const void>*>(owner); }

Status SetNumber(uint32_t field, uint64_t value, ChunkHeader& header) {
  switch (field) {
    case kKind:
      if (value < 1 || value > 3)
        return InvalidArgument("unknown kind of chunk: got {}, want 1 to 3", value);
      header.kind = static_cast<ChunkKind>(value);
      break;
    case kTransfer:
      header.transfer = value;
      break;
    case kGenerationStart:
      header.generation.start = value;
      break;
    case kGenerationCounter:
      header.generation.counter = value;
      break;
    case kWorker:
      header.worker = WorkerId(value);
      break;
    case kIncarnation:
      header.incarnation = Incarnation(value);
      break;
    case kSequence:
      header.sequence = Sequence(value);
      break;
    case kVersion:
      header.version = Version(value);
      break;
    case kOffset:
      header.offset_bytes = value;
      break;
    case kTotal:
      header.total_bytes = value;
      break;
    case kIsLast:
      header.is_last = value != 0;
      break;
    case kIsSuperseded:
      header.is_superseded = value != 0;
      break;
    case kCode:
      if (value > 16)
        return InvalidArgument("unknown status code in chunk: got {}, want 0 to 16", value);
      header.code = static_cast<StatusCode>(value);
      break;
    case kType:
      if (value > 1) return InvalidArgument("unknown type of numbers: got {}, want 0 or 1", value);
      header.type = static_cast<WireType>(value);
      break;
    case kIsAverage:
      header.is_average = value != 0;
      break;
    default:
      break;
  }
  return OkStatus();
}

}  // namespace

grpc::ByteBuffer EncodeChunk(const ChunkHeader& header, std::span<const std::byte> data,
                             std::shared_ptr<const void> owner) {
  const grpc::Slice head(EncodeHeader(header, data.size()));
  if (data.empty()) return {&head, 1};
  // gRPC wants a pointer to what it will never write.
  auto* const bytes = const_cast<std::byte*>(data.data());
  const grpc::Slice slices[2] = {head,
                                 grpc::Slice(bytes, data.size(), &ReleaseOwner,
                                             new std::shared_ptr<const void>(std::move(owner)))};
  return {slices, 2};
}

StatusOr<ReceivedChunk> ReceivedChunk::Decode(const grpc::ByteBuffer& bytes) {
  ReceivedChunk chunk;
  bool has_kind = false;
  if (!bytes.Dump(&chunk.slices_).ok()) return InvalidArgument("chunk has no bytes");
  WireCursor cursor(chunk.slices_);
  while (!cursor.AtEnd()) {
    PACELINE_ASSIGN_OR_RETURN(const WireCursor::Tag tag, cursor.ReadTag());
    if (tag.type == kVarintType) {
      PACELINE_ASSIGN_OR_RETURN(const uint64_t value, cursor.ReadVarint());
      PACELINE_RETURN_IF_ERROR(SetNumber(tag.field, value, chunk.header_));
      has_kind |= tag.field == kKind;
    } else if (tag.type == kLengthType && tag.field == kMessage) {
      PACELINE_ASSIGN_OR_RETURN(chunk.header_.message, cursor.ReadString());
    } else if (tag.type == kLengthType && tag.field == kData) {
      PACELINE_ASSIGN_OR_RETURN(chunk.data_bytes_, cursor.ReadLength());
      cursor.Settle();
      chunk.first_slice_ = cursor.slice();
      chunk.first_byte_ = cursor.byte();
      PACELINE_RETURN_IF_ERROR(cursor.Skip(chunk.data_bytes_));
    } else {
      PACELINE_RETURN_IF_ERROR(cursor.SkipField(tag.type));
    }
  }
  if (!has_kind) return InvalidArgument("chunk has no kind");
  return chunk;
}

Status ReceivedChunk::CheckPlace(uint64_t slice_bytes, uint64_t rounded_end) const {
  const uint64_t offset = header_.offset_bytes;
  if (offset > slice_bytes || size_bytes() > slice_bytes - offset) {
    return InvalidArgument("chunk lies outside of the slice: {} bytes at {}, slice has {}",
                           size_bytes(), offset, slice_bytes);
  }
  if (header_.type == WireType::kFloat32) return OkStatus();
  if (offset % sizeof(float) != 0 || data_bytes_ % sizeof(uint16_t) != 0 ||
      offset + size_bytes() > rounded_end) {
    return InvalidArgument(
        "chunk is BFloat16 where Float32 is wanted: {} bytes at {}, rounded are {}", size_bytes(),
        offset, rounded_end);
  }
  return OkStatus();
}

Status ReceivedChunk::CopyInto(std::span<std::byte> slice, uint64_t rounded_end) const {
  PACELINE_RETURN_IF_ERROR(CheckPlace(slice.size(), rounded_end));
  const std::span<std::byte> part = slice.subspan(header_.offset_bytes, size_bytes());
  if (header_.type == WireType::kBfloat16) {
    WidenInto(part);
    return OkStatus();
  }
  std::byte* out = part.data();
  uint64_t left = data_bytes_;
  size_t begin = first_byte_;
  for (size_t i = first_slice_; left > 0; ++i, begin = 0) {
    const size_t size = std::min<uint64_t>(slices_[i].size() - begin, left);
    std::memcpy(out, slices_[i].begin() + begin, size);
    out += size;
    left -= size;
  }
  return OkStatus();
}

// A number may be cut by the end of a slice of gRPC's, and lie at an odd place: through a small
// aligned copy, which stays in the cache.
void ReceivedChunk::WidenInto(std::span<std::byte> part) const {
  constexpr size_t kAtOnce = 2048;
  uint16_t numbers[kAtOnce];
  auto* const bytes = reinterpret_cast<std::byte*>(numbers);
  size_t held = 0;
  float* out = reinterpret_cast<float*>(part.data());
  uint64_t left = data_bytes_;
  size_t slice = first_slice_;
  size_t begin = first_byte_;
  while (left > 0) {
    const size_t size =
        std::min<uint64_t>({slices_[slice].size() - begin, left, sizeof(numbers) - held});
    std::memcpy(bytes + held, slices_[slice].begin() + begin, size);
    held += size;
    left -= size;
    begin += size;
    if (begin == slices_[slice].size()) {
      ++slice;
      begin = 0;
    }
    if (held < sizeof(numbers) && left > 0) continue;
    const size_t count = held / sizeof(uint16_t);
    store::WidenBfloat16({numbers, count}, {out, count});
    out += count;
    held = 0;
  }
}

Status ChunkSequence::Add(const ReceivedChunk& chunk) {
  const ChunkHeader& header = chunk.header();
  if (header.total_bytes != total_bytes_) {
    return InvalidArgument("size of the slice differs: got {} bytes, want {}", header.total_bytes,
                           total_bytes_);
  }
  if (is_complete_ || header.offset_bytes != received_bytes_) {
    return InvalidArgument("chunk is not the next one: got offset {}, want {}", header.offset_bytes,
                           received_bytes_);
  }
  if (chunk.size_bytes() > total_bytes_ - received_bytes_) {
    return InvalidArgument("chunk lies outside of the slice: {} bytes at {}, slice has {}",
                           chunk.size_bytes(), header.offset_bytes, total_bytes_);
  }
  const uint64_t received = received_bytes_ + chunk.size_bytes();
  if (header.is_last != (received == total_bytes_)) {
    return InvalidArgument("last chunk is marked wrongly: {} of {} bytes", received, total_bytes_);
  }
  received_bytes_ = received;
  is_complete_ = header.is_last;
  return OkStatus();
}

}  // namespace paceline::rpc
