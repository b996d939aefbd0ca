// Defines GrpcBegunPush: a push over gRPC that travels while it is made. Private to lib/rpc/bulk.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "lib/rpc/bulk/begun_push.h"
#include "lib/rpc/bulk/bulk_chunk.h"
#include "lib/rpc/bulk/coverage.h"
#include "lib/rpc/bulk/shard_streams.h"
#include "lib/rpc/bulk/transfers.h"
#include "lib/store/layout.h"
#include "lib/store/slice_parts.h"

namespace paceline::rpc {

// A thread of its own, from the first full bucket on, drives the streams, until the push is whole
// or given up; who makes the push only copies. Given up after a byte has travelled, it ends the
// streams, which are opened anew when next needed: nothing of it goes on filling the link.
class GrpcBegunPush final : public BegunPush {
 public:
  struct Options {
    ShardStreams* streams = nullptr;   // Its own until it is destroyed.
    std::vector<store::Slice> slices;  // By rank, following each other.
    store::SliceParts parts;           // Of the layout.
    ChunkHeader header;                // All but the transfer's number.
    Patience patience;
    uint64_t chunk_bytes = 0;
    uint64_t bucket_bytes = 0;
    uint64_t rounded_end = 0;  // The layout's first numbers, which travel as BFloat16.
  };
  // `memory`: as long as the layout; read until gRPC lets go of it.
  GrpcBegunPush(Options options, std::shared_ptr<std::byte[]> memory);
  ~GrpcBegunPush() override;

  void Put(uint64_t offset_bytes, std::span<const std::byte> part) override;
  StatusOr<PushReport> Seal() override;
  bool MaySealAgain() const override { return true; }

 private:
  using Stretch = std::pair<uint64_t, uint64_t>;  // Begin and end, in the layout.

  uint64_t total_bytes() const { return options_.slices.back().end_bytes; }
  std::span<std::byte> bytes() const { return {memory_.get(), total_bytes()}; }
  // The numbers at [begin, end) of the layout, rounded, which lie in the first half of their place.
  std::span<uint16_t> Rounded(uint64_t begin, uint64_t end) const;
  OutgoingSlice SliceOf(const store::Slice& slice) const;
  // To its place in memory, from a place of the layout.
  void Keep(uint64_t offset_bytes, std::span<const std::byte> part);
  std::optional<uint64_t> FirstNonFinite() const;
  // Transfers that have nothing yet, in the place of the former ones.
  void Begin();
  void Add(Stretch stretch);
  void End();
  void AddGathered();
  Status Run(const Making* making);
  void JoinSender();
  PushReport Report() const;

  const Options options_;
  const std::shared_ptr<std::byte[]> memory_;
  Coverage coverage_;
  bool is_spoilt_ = false;
  std::vector<Stretch> gathered_;  // Copied, and not handed to the transfers.
  uint64_t gathered_bytes_ = 0;

  std::deque<GrowingPush> transfers_;  // By rank.
  Making making_;
  std::thread sender_;
  Status sent_;  // Of the sender, once it has ended.
  bool is_tried_ = false;
};

}  // namespace paceline::rpc
