// Defines IncomingTransfer, one push or fill as a shard receives it, and FillMemory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/rpc/bulk/bulk_chunk.h"
#include "lib/rpc/bulk/chunk_coverage.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

// Remembers the last fill that was completed, so that its retry gets the first answer: a second
// copy would undo the first one, which the coordinator may be about to open. Thread-safe.
class FillMemory {
 public:
  struct Fill {
    Generation generation;
    WorkerId worker;
    Incarnation incarnation;
    friend bool operator==(const Fill&, const Fill&) = default;
  };
  bool IsComplete(const Fill& fill) const;
  void Complete(const Fill& fill);
  void Begin();  // Another fill takes over.

 private:
  mutable std::mutex mutex_;
  std::optional<Fill> complete_;
};

using ReceiptPointer = std::shared_ptr<const store::Receipt>;

// One owner at a time.
class IncomingTransfer {
 public:
  // Asks the host where the bytes of `first`, the transfer's first chunk, go. The store's refusal
  // otherwise.
  static StatusOr<std::unique_ptr<IncomingTransfer>> Begin(ShardHost& host, FillMemory& fills,
                                                           const rpc::ChunkHeader& first);
  virtual ~IncomingTransfer() = default;

  // The answer, if it was given before: nothing more is wanted.
  const ReceiptPointer& answered() const { return answered_; }
  // Copies a chunk to its place. InvalidArgument as ChunkCoverage has it.
  Status Add(const rpc::ReceivedChunk& chunk);
  bool is_complete() const { return coverage_.is_complete(); }
  uint64_t received_bytes() const { return coverage_.received_bytes(); }
  // The answer to a complete transfer; the store's refusal otherwise.
  virtual StatusOr<ReceiptPointer> Seal() = 0;

 protected:
  IncomingTransfer() = default;
  // The first `rounded_end` bytes are numbers that may come as BFloat16.
  void Place(std::span<std::byte> bytes, uint64_t rounded_end = 0);
  virtual void Arrived(uint64_t /*begin*/, uint64_t /*end*/) {}  // Are in their place.

  ReceiptPointer answered_;

 private:
  std::span<std::byte> bytes_;
  uint64_t rounded_end_ = 0;
  rpc::ChunkCoverage coverage_;
};

}  // namespace paceline::ps
