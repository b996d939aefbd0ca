// Defines PushTransfer (fills too), GrowingPush and PullTransfer: the way of one slice to or from
// one shard.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "paceline/v1/chunk.pb.h"
#include <grpcpp/support/byte_buffer.h>

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/rpc/bulk/bulk_chunk.h"
#include "lib/rpc/bulk/transfer_stream.h"
#include "lib/store/layout.h"
#include "lib/sync/contract/decision.h"

namespace paceline::rpc {

// One shard's part of what is pushed, as it lies in memory.
struct OutgoingSlice {
  std::span<const std::byte> bytes;  // As the layout has them.
  // Of the first numbers, twice as many bytes as these: they travel so, and `bytes` has none there.
  std::span<const std::byte> rounded = {};
  std::shared_ptr<const void> owner;
};

// How much of a slice's beginning is rounded, if so much of the layout's is.
inline uint64_t RoundedPart(uint64_t rounded_end, const store::Slice& slice) {
  return std::clamp(rounded_end, slice.begin_bytes, slice.end_bytes) - slice.begin_bytes;
}

// What is answered by one receipt, and by notes of what has arrived before it.
class ReceiptTransfer : public Transfer {
 public:
  Status Received(const grpc::ByteBuffer& message) final;
  bool is_answered() const final { return is_answered_; }
  Status status() const final;
  const v1::PushReceipt& receipt() const { return receipt_; }

 protected:
  // `header` names the transfer; the slice is so long.
  ReceiptTransfer(ChunkHeader header, uint64_t total_bytes);
  // That part of the slice, which is not cut between the types.
  grpc::ByteBuffer Chunk(uint64_t begin, bool is_last, WireType type,
                         std::span<const std::byte> data, std::shared_ptr<const void> owner);
  uint64_t total_bytes() const { return header_.total_bytes; }

 private:
  ChunkHeader header_;
  bool is_answered_ = false;
  v1::PushReceipt receipt_;
};

// A push or a fill that is there as a whole: its chunks follow each other.
class PushTransfer final : public ReceiptTransfer {
 public:
  // The slice's first `rounded_end` bytes are numbers to be rounded on their way.
  PushTransfer(ChunkHeader header, std::span<const std::byte> slice,
               std::shared_ptr<const void> owner, uint64_t chunk_bytes, uint64_t rounded_end = 0);

  std::optional<grpc::ByteBuffer> NextMessage() override;

 private:
  const std::span<const std::byte> slice_;
  const std::shared_ptr<const void> owner_;
  const uint64_t chunk_bytes_;
  const uint64_t rounded_end_;
  uint64_t sent_bytes_ = 0;
  bool is_sent_ = false;
};

// A push that is made while it travels. Add and End are of the thread that makes it, all else of
// the one that sends it.
class GrowingPush final : public ReceiptTransfer {
 public:
  // `slice` is to be filled by and by.
  GrowingPush(ChunkHeader header, OutgoingSlice slice, uint64_t chunk_bytes);

  // Bytes of the slice, filled, that are not added again; not to be cut within a number.
  void Add(uint64_t begin, uint64_t end);
  void End();  // All is added.

  std::optional<grpc::ByteBuffer> NextMessage() override;

 private:
  const OutgoingSlice slice_;
  const uint64_t chunk_bytes_;
  std::mutex mutex_;  // Guards what is below.
  std::deque<std::pair<uint64_t, uint64_t>> ready_;
  bool is_ended_ = false;
  bool is_sent_ = false;
};

// A pull: one request out, chunks back into `slice`.
class PullTransfer final : public Transfer {
 public:
  // The slice's first `rounded_end` bytes are numbers that may come as BFloat16. `is_average`: the
  // parameters' average, InvalidArgument from a shard that sends the parameters all the same.
  PullTransfer(uint64_t transfer, Generation generation, Version version, sync::Exactness exactness,
               std::span<std::byte> slice, uint64_t rounded_end = 0, bool is_average = false);

  std::optional<grpc::ByteBuffer> NextMessage() override;
  Status Received(const grpc::ByteBuffer& message) override;
  bool is_answered() const override { return is_answered_; }

  Status status() const override { return status_; }
  bool is_superseded() const { return is_superseded_; }
  bool is_named() const { return first_version_.has_value(); }  // The version that is sent.
  Version version() const { return version_; }  // Of the bytes; the shard's newest if superseded.

 private:
  Status CheckVersion(Version got);

  v1::PullRequest request_;
  const std::span<std::byte> slice_;
  const uint64_t rounded_end_;
  const bool is_exact_;
  ChunkSequence sequence_;
  std::optional<Version> first_version_;
  bool is_sent_ = false;
  bool is_answered_ = false;
  bool is_superseded_ = false;
  Status status_;
  Version version_;
};

}  // namespace paceline::rpc
