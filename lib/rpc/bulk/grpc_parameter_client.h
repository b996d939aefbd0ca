// Defines GrpcParameterClient: a ParameterClient over gRPC, one attempt a call; and
// OpenParameterClient, which adds retries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/wire_type.h"
#include "lib/protocol/worker_messages.h"
#include "lib/rpc/bulk/parameter_client.h"
#include "lib/rpc/bulk/shard_streams.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/retry.h"
#include "lib/store/slice_parts.h"

namespace paceline::rpc {

struct GrpcParameterClientOptions {
  Generation generation;
  std::vector<protocol::ShardAddress> shards;  // All, in rank order.
  // Of the whole layout: what may be rounded, and where to look for what is not finite. Empty:
  // nothing.
  store::SliceParts parts = {};
  WireTypes types = {};        // Of gradients that are pushed, of parameters that are pulled.
  bool pulls_average = false;  // The parameters' moving average in their place.
  // Of an attempt, without a byte moved to or from some shard that has not answered; then
  // DeadlineExceeded. As long as bytes move it may take as long as it takes.
  Duration idle_timeout = Seconds(60);
  uint64_t chunk_bytes = 1 << 19;  // At least 1.
  // Of a push that is made while it travels, so much is gathered before it is sent; at least 1. A
  // layout that is no longer is pushed as a whole.
  uint64_t bucket_bytes = 4 << 20;
  // Asked ten times a second while nothing moves, on any calling thread: true ends the call with
  // Cancelled. For whoever learns otherwise that the shards wait for it no more.
  std::function<bool()> is_cancelled = nullptr;
  ChannelOptions channel;
};

// One connection a shard with one stream each way, kept between calls and opened anew after a
// failure. The calling thread drives one way of all shards at once and copies what it pulls; no
// thread is added, but for a begun push. Memory that a failed call may still read is held through
// its owner; `into` is never written after a call has returned. A begun push is copied into memory
// as long as the layout, which is kept for the next one.
class GrpcParameterClient final : public ParameterClient {
 public:
  // InvalidArgument, naming the shard, if the slices do not follow each other in rank order from 0.
  static StatusOr<std::unique_ptr<GrpcParameterClient>> Create(GrpcParameterClientOptions options);
  ~GrpcParameterClient() override;

  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> PushExactly(const store::PushId& push, std::span<const std::byte> payload,
                                   std::shared_ptr<const void> owner) override;
  // Null where the layout is no longer than a bucket.
  std::unique_ptr<BegunPush> BeginPush(const store::PushId& push) override;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override;

 private:
  explicit GrpcParameterClient(GrpcParameterClientOptions options);

  StatusOr<PushReport> PushAs(WireType type, const store::PushId& push,
                              std::span<const std::byte> payload,
                              std::shared_ptr<const void> owner);
  std::optional<uint64_t> FirstNonFinite(std::span<const std::byte> payload, WireType type) const;
  // Of the layout's first numbers: those that travel rounded.
  uint64_t RoundedEnd(WireType type) const {
    return type == WireType::kBfloat16 ? options_.parts.parameters_end : 0;
  }
  // What travels of the layout.
  uint64_t WireBytes(WireType type) const { return total_bytes_ - RoundedEnd(type) / 2; }
  Patience patience() const { return {options_.idle_timeout, options_.is_cancelled}; }

  const GrpcParameterClientOptions options_;
  const uint64_t total_bytes_;
  std::unique_ptr<ShardStreams> pushes_;  // Fills too.
  std::unique_ptr<ShardStreams> pulls_;
  std::shared_ptr<std::byte[]> memory_;  // Of begun pushes; null before the first.
};

StatusOr<std::unique_ptr<ParameterClient>> OpenParameterClient(GrpcParameterClientOptions options,
                                                               RetryPolicy retries = {});

}  // namespace paceline::rpc
