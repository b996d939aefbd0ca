// Defines GrpcParameterClient: a ParameterClient over gRPC, one attempt a call; and
// OpenParameterClient, which adds retries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/protocol/worker_messages.h"
#include "lib/rpc/bulk/parameter_client.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/retry.h"

namespace paceline::rpc {

struct GrpcParameterClientOptions {
  Generation generation;
  std::vector<protocol::ShardAddress> shards;  // All, in rank order.
  // Of an attempt, without a byte moved to or from some shard that has not answered; then
  // DeadlineExceeded. As long as bytes move it may take as long as it takes.
  Duration idle_timeout = Seconds(60);
  uint64_t chunk_bytes = 1 << 19;  // At least 1.
  // Asked ten times a second while nothing moves, on any calling thread: true ends the call with
  // Cancelled. For whoever learns otherwise that the shards wait for it no more.
  std::function<bool()> is_cancelled = nullptr;
  ChannelOptions channel;
};

// One connection a shard with one stream each way, kept between calls and opened anew after a
// failure. The calling thread drives one way of all shards at once and copies what it pulls; no
// thread is added. Memory that a failed call may still read is held through its owner; `into` is
// never written after a call has returned.
class GrpcParameterClient final : public ParameterClient {
 public:
  // InvalidArgument, naming the shard, if the slices do not follow each other in rank order from 0.
  static StatusOr<std::unique_ptr<GrpcParameterClient>> Create(GrpcParameterClientOptions options);
  ~GrpcParameterClient() override;

  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner) override;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override;

 private:
  struct Streams;
  explicit GrpcParameterClient(GrpcParameterClientOptions options);

  const GrpcParameterClientOptions options_;
  const uint64_t total_bytes_;
  std::unique_ptr<Streams> pushes_;  // Fills too.
  std::unique_ptr<Streams> pulls_;
};

StatusOr<std::unique_ptr<ParameterClient>> OpenParameterClient(GrpcParameterClientOptions options,
                                                               RetryPolicy retries = {});

}  // namespace paceline::rpc
