// Defines SharedMemoryClient: a ParameterClient between processes of one user on one machine.
// Bytes do not travel, and are not rounded: a push is written where the shard reads it, a pull is
// read where the shard has published it (docs/adr/0047).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/protocol/worker_messages.h"
#include "lib/rpc/bulk/parameter_client.h"
#include "lib/rpc/shared_memory/version_room.h"

namespace paceline::rpc {

struct SharedMemoryClientOptions {
  Generation generation;
  std::vector<protocol::ShardAddress> shards;  // All, in rank order; of this machine.
  Duration idle_timeout = Seconds(60);         // Of one answer; then DeadlineExceeded.
  int threads = 1;                             // That share what is copied.
  // Asked ten times a second while no answer comes, on any calling thread: true ends the call with
  // Cancelled.
  std::function<bool()> is_cancelled = nullptr;
  bool pulls_average = false;  // The parameters' moving average in their place.
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
  StatusOr<PushReport> PushExactly(const store::PushId& push, std::span<const std::byte> payload,
                                   std::shared_ptr<const void> owner) override;
  // Null where no shard has a slot just now, or sockets are used.
  std::unique_ptr<BegunPush> BeginPush(const store::PushId& push) override;
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override;
  // Nothing for small models, whose copy costs less than a place for them, and once somebody has
  // written to what was held, which is logged.
  StatusOr<std::optional<PullReport>> Hold(Version version, sync::Exactness exactness,
                                           const OnHeld& on_held) override;

 private:
  struct Way;
  struct RegionName {
    uint64_t connection = 0, region = 0;  // Regions of an earlier connection are others.
    friend bool operator==(const RegionName&, const RegionName&) = default;
  };
  struct Room {
    std::vector<RegionName> regions;  // By rank.
    std::shared_ptr<VersionRoom> place;
    uint64_t used_at = 0;  // The number of the hold.
  };
  class StagedPush;
  explicit SharedMemoryClient(SharedMemoryClientOptions options);

  // Nothing where sockets are to be used.
  std::optional<StatusOr<PushReport>> TryPush(const store::PushId& push,
                                              std::span<const std::byte> payload);
  StatusOr<std::unique_ptr<StagedPush>> Stage(const store::PushId& push);
  StatusOr<PullReport> TryPull(Version version, sync::Exactness exactness,
                               std::span<std::byte> into, const OnNamed& on_named);
  // Asks all shards for the version, and hears which.
  StatusOr<PullReport> AskFor(Version version, sync::Exactness exactness);
  // What the answers to AskFor name is read, and the shards have heard so.
  Status ReleaseAnswers();
  StatusOr<std::optional<PullReport>> TryHold(Version version, sync::Exactness exactness,
                                              const OnHeld& on_held);
  // It takes the place of what is held, if anything is, which is given back.
  Status HoldInstead(std::optional<Room> room);
  bool HasStill(const RegionName& name, size_t rank) const;
  // Where the regions that the answers name stand side by side; nothing if there is no such place.
  StatusOr<std::optional<Room>> RoomOfAnswers();
  StatusOr<std::shared_ptr<VersionRoom>> MakeRoom();
  // For good, and why is logged.
  void HoldNoMore(const std::string& why);
  // True if `status` says that memory cannot be shared: from now on sockets are used.
  bool IsToUseSockets(const Status& status);

  const SharedMemoryClientOptions options_;
  std::unique_ptr<ParameterClient> sockets_;
  const uint64_t total_bytes_;
  std::unique_ptr<Way> pushes_;
  std::unique_ptr<Way> pulls_;
  std::atomic<bool> has_no_memory_ = false;
  // Of whoever pulls.
  std::vector<Room> rooms_;  // The one used last comes last.
  std::optional<Room> held_;
  uint64_t holds_ = 0;
  uint64_t holds_again_at_ = 0;  // Of those before then nothing comes.
};

}  // namespace paceline::rpc
