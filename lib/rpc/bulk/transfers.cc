#include "lib/rpc/bulk/transfers.h"

#include <algorithm>
#include <utility>

#include "lib/rpc/bulk/message_bytes.h"
#include "lib/rpc/control/codec_values.h"

namespace paceline::rpc {

ReceiptTransfer::ReceiptTransfer(ChunkHeader header, std::span<const std::byte> slice,
                                 std::shared_ptr<const void> owner)
    : slice_(slice), header_(std::move(header)), owner_(std::move(owner)) {
  header_.total_bytes = slice_.size();
}

grpc::ByteBuffer ReceiptTransfer::Chunk(uint64_t begin, uint64_t end, bool is_last) {
  header_.offset_bytes = begin;
  header_.is_last = is_last;
  return EncodeChunk(header_, slice_.subspan(begin, end - begin), owner_);
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
                           std::shared_ptr<const void> owner, uint64_t chunk_bytes)
    : ReceiptTransfer(std::move(header), slice, std::move(owner)), chunk_bytes_(chunk_bytes) {}

std::optional<grpc::ByteBuffer> PushTransfer::NextMessage() {
  if (is_sent_) return std::nullopt;
  const uint64_t begin = sent_bytes_;
  sent_bytes_ = std::min(begin + chunk_bytes_, slice_.size());
  is_sent_ = sent_bytes_ == slice_.size();  // An empty slice is one empty chunk.
  return Chunk(begin, sent_bytes_, is_sent_);
}

GrowingPush::GrowingPush(ChunkHeader header, std::span<const std::byte> slice,
                         std::shared_ptr<const void> owner, uint64_t chunk_bytes)
    : ReceiptTransfer(std::move(header), slice, std::move(owner)), chunk_bytes_(chunk_bytes) {}

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
    return Chunk(slice_.size(), slice_.size(), true);
  }
  auto& [next, end] = ready_.front();
  const uint64_t begin = next;
  const uint64_t chunk_end = next = std::min(begin + chunk_bytes_, end);
  if (next == end) ready_.pop_front();
  is_sent_ = is_ended_ && ready_.empty();
  return Chunk(begin, chunk_end, is_sent_);
}

PullTransfer::PullTransfer(uint64_t transfer, Generation generation, Version version,
                           sync::Exactness exactness, std::span<std::byte> slice)
    : slice_(slice), is_exact_(exactness == sync::Exactness::kExact), sequence_(slice.size()) {
  request_.set_transfer(transfer);
  *request_.mutable_generation() = Encode(generation);
  request_.set_version(version.value());
  request_.set_exactness(Encode(exactness));
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
  PACELINE_RETURN_IF_ERROR(CheckVersion(header.version));
  PACELINE_RETURN_IF_ERROR(sequence_.Add(chunk));
  PACELINE_RETURN_IF_ERROR(chunk.CopyInto(slice_));
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
