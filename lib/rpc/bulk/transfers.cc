#include "lib/rpc/bulk/transfers.h"

#include <algorithm>
#include <utility>

#include "lib/rpc/bulk/answers.h"
#include "lib/rpc/bulk/message_bytes.h"
#include "lib/rpc/control/codec_values.h"
#include "lib/store/kernels.h"
#include "lib/store/slice_parts.h"

namespace paceline::rpc {
namespace {

// So many bytes of a slice make a chunk of about `chunk_bytes` of rounded numbers.
uint64_t RoundedStep(uint64_t chunk_bytes) {
  return std::max<uint64_t>(1, chunk_bytes / sizeof(uint16_t)) * sizeof(float);
}

}  // namespace

ReceiptTransfer::ReceiptTransfer(ChunkHeader header, uint64_t total_bytes)
    : header_(std::move(header)) {
  header_.total_bytes = total_bytes;
}

grpc::ByteBuffer ReceiptTransfer::Chunk(uint64_t begin, bool is_last, WireType type,
                                        std::span<const std::byte> data,
                                        std::shared_ptr<const void> owner) {
  header_.offset_bytes = begin;
  header_.is_last = is_last;
  header_.type = type;
  return EncodeChunk(header_, data, std::move(owner));
}

Status ReceiptTransfer::Received(const grpc::ByteBuffer& message) {
  PACELINE_RETURN_IF_ERROR(ParseByteBuffer(message, receipt_));
  if (receipt_.transfer() != header_.transfer) {
    return Internal("receipt is for another transfer: got {}, want {}", receipt_.transfer(),
                    header_.transfer);
  }
  is_answered_ = receipt_.received_bytes() == 0;
  return OkStatus();
}

Status ReceiptTransfer::status() const {
  if (receipt_.code() > 16) return Internal("unknown status code in receipt: {}", receipt_.code());
  return MakeStatus(static_cast<StatusCode>(receipt_.code()), receipt_.message());
}

PushTransfer::PushTransfer(ChunkHeader header, std::span<const std::byte> slice,
                           std::shared_ptr<const void> owner, uint64_t chunk_bytes,
                           uint64_t rounded_end)
    : ReceiptTransfer(std::move(header), slice.size()),
      slice_(slice),
      owner_(std::move(owner)),
      chunk_bytes_(chunk_bytes),
      rounded_end_(rounded_end) {}

std::optional<grpc::ByteBuffer> PushTransfer::NextMessage() {
  if (is_sent_) return std::nullopt;
  const uint64_t begin = sent_bytes_;
  const bool is_rounded = begin < rounded_end_;
  const uint64_t end = sent_bytes_ = is_rounded
                                         ? std::min(begin + RoundedStep(chunk_bytes_), rounded_end_)
                                         : std::min(begin + chunk_bytes_, slice_.size());
  is_sent_ = end == slice_.size();  // An empty slice is one empty chunk.
  if (!is_rounded)
    return Chunk(begin, is_sent_, WireType::kFloat32, slice_.subspan(begin, end - begin), owner_);
  const size_t count = (end - begin) / sizeof(float);
  const auto rounded = std::make_shared_for_overwrite<uint16_t[]>(count);
  store::RoundToBfloat16(store::View<float>(slice_, begin, end), {rounded.get(), count});
  return Chunk(begin, is_sent_, WireType::kBfloat16, std::as_bytes(std::span(rounded.get(), count)),
               rounded);
}

GrowingPush::GrowingPush(ChunkHeader header, OutgoingSlice slice, uint64_t chunk_bytes)
    : ReceiptTransfer(std::move(header), slice.bytes.size()),
      slice_(std::move(slice)),
      chunk_bytes_(chunk_bytes) {}

void GrowingPush::Add(uint64_t begin, uint64_t end) {
  if (begin == end) return;
  std::lock_guard lock(mutex_);
  ready_.emplace_back(begin, end);
}

void GrowingPush::End() {
  std::lock_guard lock(mutex_);
  is_ended_ = true;
}

std::optional<grpc::ByteBuffer> GrowingPush::NextMessage() {
  std::lock_guard lock(mutex_);
  if (is_sent_) return std::nullopt;
  if (ready_.empty()) {
    is_sent_ = is_ended_;
    if (!is_sent_) return std::nullopt;
    return Chunk(total_bytes(), true, WireType::kFloat32, {}, nullptr);
  }
  auto& [next, end] = ready_.front();
  const uint64_t begin = next;
  const uint64_t rounded_end = 2 * slice_.rounded.size();
  const bool is_rounded = begin < rounded_end;
  next = is_rounded ? std::min({begin + RoundedStep(chunk_bytes_), end, rounded_end})
                    : std::min(begin + chunk_bytes_, end);
  const uint64_t size = next - begin;
  if (next == end) ready_.pop_front();
  is_sent_ = is_ended_ && ready_.empty();
  if (!is_rounded)
    return Chunk(begin, is_sent_, WireType::kFloat32, slice_.bytes.subspan(begin, size),
                 slice_.owner);
  return Chunk(begin, is_sent_, WireType::kBfloat16, slice_.rounded.subspan(begin / 2, size / 2),
               slice_.owner);
}

PullTransfer::PullTransfer(uint64_t transfer, Generation generation, Version version,
                           sync::Exactness exactness, std::span<std::byte> slice,
                           uint64_t rounded_end, bool is_average)
    : slice_(slice),
      rounded_end_(rounded_end),
      is_exact_(exactness == sync::Exactness::kExact),
      sequence_(slice.size()) {
  request_.set_transfer(transfer);
  *request_.mutable_generation() = Encode(generation);
  request_.set_version(version.value());
  request_.set_exactness(Encode(exactness));
  if (rounded_end > 0) request_.set_parameter_type(v1::NUMBER_TYPE_BFLOAT16);
  request_.set_is_average(is_average);
}

std::optional<grpc::ByteBuffer> PullTransfer::NextMessage() {
  if (is_sent_) return std::nullopt;
  is_sent_ = true;
  return ToByteBuffer(request_);
}

Status PullTransfer::Received(const grpc::ByteBuffer& message) {
  PACELINE_ASSIGN_OR_RETURN(const ReceivedChunk chunk, ReceivedChunk::Decode(message));
  const ChunkHeader& header = chunk.header();
  if (header.kind != ChunkKind::kPullAnswer || header.transfer != request_.transfer()) {
    return Internal("chunk is for another transfer: got {}, want {}", header.transfer,
                    request_.transfer());
  }
  version_ = header.version;
  if (header.code != StatusCode::kOk || header.is_superseded) {
    status_ = MakeStatus(header.code, header.message);
    is_superseded_ = header.is_superseded;
    is_answered_ = true;
    return OkStatus();
  }
  PACELINE_RETURN_IF_ERROR(CheckAverage(request_.is_average(), header.is_average));
  PACELINE_RETURN_IF_ERROR(CheckVersion(header.version));
  PACELINE_RETURN_IF_ERROR(sequence_.Add(chunk));
  PACELINE_RETURN_IF_ERROR(chunk.CopyInto(slice_, rounded_end_));
  is_answered_ = sequence_.is_complete();
  return OkStatus();
}

Status PullTransfer::CheckVersion(Version got) {
  const Version want(request_.version());
  if (is_exact_ ? got != want : got < want) {
    return Internal("pull was answered with another version: got {}, want {}", got, want);
  }
  if (first_version_.value_or(got) != got) {
    return Internal("version changed within a pull: got {}, began with {}", got, *first_version_);
  }
  first_version_ = got;
  return OkStatus();
}

}  // namespace paceline::rpc
