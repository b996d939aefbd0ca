// Defines PushTransfer (fills too) and PullTransfer: the way of one slice to or from one shard.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "paceline/v1/chunk.pb.h"
#include <grpcpp/support/byte_buffer.h>

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/rpc/bulk/bulk_chunk.h"
#include "lib/rpc/bulk/transfer_stream.h"
#include "lib/sync/contract/decision.h"

namespace paceline::rpc {

// A push or a fill: chunks out, one receipt back, and notes of what has arrived before it.
class PushTransfer final : public Transfer {
 public:
  // `header` names the transfer; offset and marks are added to it.
  PushTransfer(ChunkHeader header, std::span<const std::byte> slice,
               std::shared_ptr<const void> owner, uint64_t chunk_bytes);

  std::optional<grpc::ByteBuffer> NextMessage() override;
  Status Received(const grpc::ByteBuffer& message) override;
  bool is_answered() const override { return is_answered_; }

  Status status() const;  // The shard's answer.
  const v1::PushReceipt& receipt() const { return receipt_; }

 private:
  ChunkHeader header_;
  const std::span<const std::byte> slice_;
  const std::shared_ptr<const void> owner_;
  const uint64_t chunk_bytes_;
  uint64_t sent_bytes_ = 0;
  bool is_sent_ = false;
  bool is_answered_ = false;
  v1::PushReceipt receipt_;
};

// A pull: one request out, chunks back into `slice`.
class PullTransfer final : public Transfer {
 public:
  PullTransfer(uint64_t transfer, Generation generation, Version version, sync::Exactness exactness,
               std::span<std::byte> slice);

  std::optional<grpc::ByteBuffer> NextMessage() override;
  Status Received(const grpc::ByteBuffer& message) override;
  bool is_answered() const override { return is_answered_; }

  Status status() const { return status_; }  // The shard's answer.
  bool is_superseded() const { return is_superseded_; }
  bool is_named() const { return first_version_.has_value(); }  // The version that is sent.
  Version version() const { return version_; }  // Of the bytes; the shard's newest if superseded.

 private:
  Status CheckVersion(Version got);

  v1::PullRequest request_;
  const std::span<std::byte> slice_;
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
