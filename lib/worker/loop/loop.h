// Defines Loop: a worker's life. Join, fill in the initial values if asked, then pull, step, push
// until told to finish; after a lost session, join anew.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/time.h"
#include "lib/worker/loop/drawn_epochs.h"
#include "lib/worker/loop/heartbeat.h"
#include "lib/worker/loop/pulse.h"
#include "lib/worker/loop/session.h"
#include "lib/worker/loop/step_stop.h"
#include "lib/worker/loop/stopwatch.h"
#include "lib/worker/loop/trainer.h"
#include "lib/worker/loop/transfers.h"
#include "lib/worker/pacings/eager_pull.h"
#include "lib/worker/pacings/local_steps.h"
#include "lib/worker/pacings/overlapped.h"
#include "lib/worker/pacings/work_ahead.h"

namespace paceline::worker {

struct LoopOptions {
  protocol::Role role = protocol::Role::kWorker;
  WorkerId worker;            // Its index, in its group.
  std::string group;          // Empty: the job has no groups.
  std::string device;         // That the trainer computes on, for people...
  uint32_t threads = 0;       // ...and with how many threads; 0: not said.
  WireTypes wire_types = {};  // Of what the connector's shards are pushed and asked for.
  Duration order_timeout =
      Seconds(900);  // The coordinator's longest silence that is not a failure.
  // Coordinator and shards may be started again meanwhile: without an order to do something for so
  // long, over any number of sessions, the worker gives up.
  Duration rejoin_timeout = Seconds(600);
  Duration backoff_min = Seconds(0.1);  // Before joining anew; doubles...
  Duration backoff_max = Seconds(2);    // ...up to this, until there is something to do again.
  std::function<Time()> now;            // The steady clock.
  // What the host is like now; goes with each push. May be null.
  std::function<sync::Signals(Time now)> read_signals = nullptr;
  LocalOptions local;                              // Of local steps.
  std::optional<uint64_t> attempt = std::nullopt;  // Which start of its index the process is.
  Pulse* pulse = nullptr;  // The trainer's; outlives the loop. Null: heartbeats say nothing of it.
  DrawnEpochs* drawn = nullptr;  // Likewise. Null: samples are the job's to order.
  std::vector<protocol::FrozenTensor> frozen = {};  // That the trainer has by itself.
  // As in HeartbeatOptions: the loop hangs in a step while its session is over.
  std::function<void(const std::string& why)> on_stuck = nullptr;
  Duration stuck_after = Seconds(5);
  Duration stuck_alone_after = Seconds(900);
};

// The detail of a status of Run that says: this process was expelled, by no fault of its arguments.
inline constexpr std::string_view kExpelledDetail = "paceline.dev/expelled";
// In the status of one that would be welcome with its frozen tensors as buffers.
inline constexpr std::string_view kHoldsFrozenDetail = "paceline.dev/holds-frozen";

// One owner, but for Drain.
class Loop {
 public:
  // `trainer` outlives the loop.
  Loop(LoopOptions options, Connector connector, Trainer* trainer);
  ~Loop();

  // Until the job is over or the worker has drained: why, in words. Errors: PermissionDenied
  // (refused; expelled, with kExpelledDetail), those of the trainer (wrong shapes, out of memory at
  // one sample), Unavailable (coordinator or shards did not come back in time).
  StatusOr<std::string> Run();

  // Finish the push in work, sleeping on purpose no more, then leave, with these words: the first
  // time's. Thread-safe, never blocks for long.
  void Drain(const protocol::Leaving& leaving = {});

 private:
  // One session, from Join to its end. Aborted: join anew.
  StatusOr<std::string> RunSession();
  std::string Sampler() const;  // The script's own; empty: none.
  // Before joining anew; cut short by Drain.
  void Pause(Duration duration);
  StatusOr<std::optional<std::string>> Obey(const protocol::WorkerOrder& order);
  Status Evaluate(const protocol::Evaluate& order);
  Status FillShards();
  StatusOr<Version> Pull(Version version, sync::Exactness exactness);
  // The same for a step's sake: without a copy where that can be.
  StatusOr<Version> TakeUp(Version version, sync::Exactness exactness);
  void ComputeOnOwnMemory();

  // --- Training (training.cc).
  struct Turn {
    protocol::Lease lease;
    sync::Assignment assignment;
    double learning_rate = 0;
  };
  Status Release(const protocol::Released& released);
  Status Continue(const protocol::Continued& continued);
  // The one with that pacing, begun if need be. Null if the worker is draining.
  StatusOr<std::shared_ptr<WorkAhead>> Ahead(sync::Pacing pacing);
  Status PrepareLocalSteps(const sync::Assignment& assignment);
  Status StepAndPush(const Turn& turn);
  // What the step left to push: gradients, or the local copy's change.
  std::span<const std::byte> Payload(const Turn& turn, const StepResult& step);
  Status GiveUp(const protocol::Lease& lease, const Status& why);
  bool BeginWork();  // False if the worker is draining.
  Status LeaveIfDraining();
  // Why it had failed; nothing if it had not, or there is none.
  std::optional<Status> StopAhead();
  void SayInterrupts() const;  // In the log, what they cost so far, if there were any.

  const LoopOptions options_;
  const Connector connector_;
  Trainer* const trainer_;

  std::shared_ptr<Session> session_;
  std::unique_ptr<Transfers> transfers_;  // Null until the shards' addresses are known.
  protocol::Admitted admitted_;
  std::optional<Heartbeat> heartbeat_;
  const std::shared_ptr<StepStop> stop_;  // Of the steps that are made here; sessions reach it.
  Stopwatch stopwatch_;
  bool has_work_ = false;  // This session asked for something to be done.
  // What the trainer computes on, if not on its own memory.
  std::shared_ptr<rpc::VersionPlace> held_;
  bool has_pulled_ = false;  // The trainer's parameters are not the initial ones any more.

  std::string accuracy_from_;  // As an evaluation said last.

  Version base_;                     // Of the trainer's parameters, but for local steps.
  std::optional<LocalSteps> local_;  // Set while the pacing is to keep going.
  std::vector<std::byte> delta_;
  bool is_spoilt_ = false;  // The last local push was not finite.

  std::mutex mutex_;  // Guards what is below, for Drain.
  std::condition_variable draining_;
  bool is_draining_ = false;
  protocol::Leaving leaving_;  // What it says then.
  bool is_busy_ = false;       // Between a release and its PushDone.
  std::weak_ptr<Session> live_session_;
  std::shared_ptr<WorkAhead> ahead_;  // Set while the pacing is to compute meanwhile.
};

}  // namespace paceline::worker
