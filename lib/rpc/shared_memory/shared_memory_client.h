// Defines SharedMemoryClient: a ParameterClient between processes of one user on one machine.
// Bytes do not travel: a push is written where the shard reads it, a pull is read where the shard
// has published it (docs/adr/0047).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/protocol/worker_messages.h"
#include "lib/rpc/bulk/parameter_client.h"

namespace paceline::rpc {

struct SharedMemoryClientOptions {
  Generation generation;
  std::vector<protocol::ShardAddress> shards;  // All, in rank order; of this machine.
  Duration idle_timeout = Seconds(60);         // Of one answer; then DeadlineExceeded.
  // Asked ten times a second while no answer comes, on any calling thread: true ends the call with
  // Cancelled.
  std::function<bool()> is_cancelled = nullptr;
};

// One attempt a call. Two connections a shard, one each way, opened anew after a failure. Fills go
// through `sockets`, and all does from the moment on when a shard says that its memory cannot be
// shared, which is logged once.
class SharedMemoryClient final : public ParameterClient {
 public:
  // InvalidArgument or Unavailable, naming the shard and why, if one of them shares no memory:
  // `sockets` is then left as it was.
  static StatusOr<std::unique_ptr<SharedMemoryClient>> Create(
      SharedMemoryClientOptions options, std::unique_ptr<ParameterClient>& sockets);
  ~SharedMemoryClient() override;

  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void> owner) override;
  StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner) override;
  // Null where no shard has a slot just now, or sockets are used.
  std::unique_ptr<BegunPush> BeginPush(const store::PushId& push) override;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override;

 private:
  struct Way;
  class StagedPush;
  explicit SharedMemoryClient(SharedMemoryClientOptions options);

  StatusOr<std::unique_ptr<StagedPush>> Stage(const store::PushId& push);
  StatusOr<PullReport> TryPull(Version version, sync::Exactness exactness,
                               std::span<std::byte> into, const OnNamed& on_named);
  // True if `status` says that memory cannot be shared: from now on sockets are used.
  bool IsToUseSockets(const Status& status);

  const SharedMemoryClientOptions options_;
  std::unique_ptr<ParameterClient> sockets_;
  const uint64_t total_bytes_;
  std::unique_ptr<Way> pushes_;
  std::unique_ptr<Way> pulls_;
  std::atomic<bool> has_no_memory_ = false;
};

}  // namespace paceline::rpc
