// Defines ShardHost: one shard of this process, from Configure to StopShard.
//
// Orders are carried out one at a time in the order given, on its own thread or, where that is
// quicker, on the one that brings them; transfers come in on transport threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/protocol/shard_messages.h"
#include "lib/store/shard.h"
#include "ps-server/shard/shard_metrics.h"
#include "ps-server/shard/slice_saver.h"

namespace paceline::ps {

// Thread-safe.
class ShardHost {
 public:
  // Whether other processes of this machine may map what is published.
  enum class Memory { kPrivate, kShareable };

  // `report` gets this shard's messages to the coordinator, on the host's thread, a caller's of
  // Order, a transfer's or the one that writes slices; it must not block. `metrics` may be null,
  // and outlives the host.
  explicit ShardHost(std::function<void(protocol::ShardMessage)> report,
                     ShardMetrics* metrics = nullptr, SlicePlace place = {},
                     Memory memory = Memory::kPrivate);
  ~ShardHost();  // Stops the thread; orders not yet carried out are dropped.

  // Carried out in the order given. Blocks for no longer than a small slice takes, if it is one:
  // the caller then carries the order out.
  void Order(protocol::ShardOrder order);

  // How far it has got, for the coordinator.
  protocol::ShardHeartbeat Heartbeat() const { return {work_.total(), saver_.saved_bytes()}; }

  // --- Transfers.
  // The shard that serves `generation`. Unavailable before Configure, FailedPrecondition for
  // another generation; both messages name what is here and what was asked.
  StatusOr<std::shared_ptr<store::Shard>> Serving(const Generation& generation) const;
  // Where `worker` streams the initial values of this slice: memory of this fill alone, so that one
  // that was taken over may go on writing and harms nobody. A newer Fill takes over. Unavailable
  // before Configure, FailedPrecondition after Open.
  using FillBuffer = std::shared_ptr<std::vector<std::byte>>;
  StatusOr<FillBuffer> BeginFill(const Generation& generation, WorkerId worker,
                                 Incarnation incarnation);
  // All of it was written: reports Filled. Aborted if another fill took over.
  Status EndFill(const FillBuffer& buffer);
  // Whether transfers of that life of the worker are taken: of the one that the coordinator has
  // admitted, whatever a worker says of itself. PermissionDenied for an earlier life and one that
  // is over (Fence); Unavailable for one that nobody has told of (yet).
  Status CheckLife(WorkerId worker, Incarnation incarnation) const;
  // Which of the job's workers has that number; its index where it has no groups, and as long as
  // nobody has told.
  protocol::Seat SeatOf(WorkerId worker) const;

 private:
  void Run();
  void Work(
      std::unique_lock<std::mutex>& lock);  // With the lock held, which is given up meanwhile.
  void Fail(const Status& status);
  Status CarryOut(const protocol::ShardOrder& order);
  Status Configure(const protocol::Configure& order);
  Status Restore(store::Shard& shard, const protocol::RestoreSlice& restore);
  Status Open(const protocol::Open& order);
  Status Prepare(const protocol::Prepare& order);
  Status CommitAll(const protocol::CommitAll& order);

  struct FillTurn {
    WorkerId worker;
    Incarnation incarnation;
    FillBuffer buffer;
    bool is_complete = false;
  };

  const std::function<void(protocol::ShardMessage)> report_;
  ShardMetrics* const metrics_;
  const Memory memory_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<protocol::ShardOrder> orders_;
  bool is_stopping_ = false;
  bool is_at_work_ = false;  // Some thread is in Work.
  bool is_small_ = false;
  bool has_failed_ = false;  // Of whoever is at work.
  store::Meter work_;
  SliceSaver saver_;
  std::optional<Generation> generation_;
  std::shared_ptr<store::Shard> shard_;
  std::optional<FillTurn> fill_;
  bool is_open_ = false;
  std::map<WorkerId, Incarnation> fences_;
  std::map<WorkerId, Incarnation> admitted_;
  std::map<WorkerId, protocol::Seat> seats_;  // Of a job with groups.
  std::thread thread_;                        // Last: it uses the rest.
};

}  // namespace paceline::ps
