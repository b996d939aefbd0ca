// Defines Driver: the one owner of a job's policy and coordination, who does what they decide.
//
// Facts come in from transports, the policy's deadline, and the thread that saves the model;
// effects go out to connections. One fact is worked on at a time, by the thread that brings it, or
// by the one that is at work already: no thread has to be woken between a push and its release.
// Between a fact and its effects nothing else happens, so a trace of the policy replays exactly.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/time.h"
#include "lib/coordination/coordinator.h"
#include "lib/protocol/worker_messages.h"
#include "lib/sync/contract/policy.h"
#include "ps-server/coordinator/driver_metrics.h"
#include "ps-server/coordinator/progress.h"
#include "ps-server/coordinator/sessions.h"
#include "ps-server/coordinator/straggler_watch.h"
#include "ps-server/shard/background.h"

namespace paceline::ps {

struct DriverOptions {
  coordination::CoordinatorOptions coordination;
  optim::OptimizerOptions optimizer;
  std::optional<double> average_decay = std::nullopt;  // Absent: no moving average is kept.
  // Pulls one published version from all shards, arranged as the layout. Called on a thread of its
  // own.
  std::function<StatusOr<std::vector<std::byte>>(
      const Generation&, const std::vector<protocol::ShardAddress>&, Version)>
      fetch;
  // Writes the final model; `frozen` is what workers have themselves. Called on the same thread.
  std::function<Status(const store::Layout&, const std::vector<std::byte>&,
                       const std::vector<protocol::FrozenTensor>& frozen)>
      save;
  // Sees to it that the final model will find room, before training begins. What is wrong, in
  // words, if it may not; training goes on. Called once, at work on a fact. May be null.
  std::function<std::string(const store::Layout&)> reserve = nullptr;
  // Makes the policy for so many workers (at least 1) on that version, when training opens and
  // whenever SpecChanged asked for another one; `saved` is what Policy::Save said then, or empty.
  // Called at work on a fact.
  std::function<std::unique_ptr<sync::Policy>(uint32_t workers, Version version,
                                              const std::string& saved)>
      make_policy;
  // Writes the coordinator's part of a checkpoint, whose slices are there, and takes all others but
  // `keep` away. Called on a thread of its own. May be null without checkpoints.
  std::function<Status(const coordination::Checkpoint&, const std::vector<std::string>& keep)>
      complete_checkpoint = nullptr;
  // Makes sure that nobody goes on from that checkpoint, this process's next life included. Called
  // at work on a fact: it is one file that goes. May be null without checkpoints.
  std::function<Status(const std::string& name)> forsake_checkpoint = nullptr;
  std::string checkpoint_note = "";  // For Progress.
  StragglerOptions stragglers = {};
  // Told of every effect, in order, before it is carried out; never from two threads at once. May
  // be null.
  std::function<void(const coordination::Effect&)> on_effect = nullptr;
};

// Thread-safe from outside.
class Driver : public Sessions {
 public:
  // `metrics` outlives the driver.
  Driver(DriverOptions options, DriverMetrics* metrics);
  ~Driver() override;  // As Stop.

  // Stops the threads; what is not done by then is not done, and nothing is sent to a connection
  // afterwards. For whose connections end in something that goes before the driver.
  void Stop();

  coordination::ConnectionId WorkerConnected(std::shared_ptr<WorkerConnection> connection) override;
  void WorkerSaid(coordination::ConnectionId connection, protocol::WorkerMessage message) override;
  void WorkerGone(coordination::ConnectionId connection) override;
  bool ShardConnected(const protocol::Register& shard,
                      std::shared_ptr<ShardConnection> connection) override;
  void ShardSaid(ShardId shard, protocol::ShardMessage message) override;
  void ShardGone(ShardId shard, std::string reason) override;

  // What may change while the job runs (fact.h).
  void ChangeSpec(const coordination::SpecChanged& changed);
  void Drain(std::vector<protocol::Seat> workers);
  void FrozenArriving(uint64_t bytes, uint64_t total);

  // Ends the job: with the model so far, as a failure, or to go on later.
  void AskToStop(std::string reason, coordination::StopKind kind);

  // When the facts that had come by then were last worked through: each second at least where
  // somebody brings one so often, unless it hangs.
  Time turned() const;
  // As it was at most a twentieth of a second ago, or twenty times what working it out takes.
  Progress progress() const;
  std::optional<coordination::Finished> finished() const;
  // What the job came to; nothing if `timeout` passes first.
  std::optional<coordination::Finished> WaitFinished(Duration timeout);

 private:
  struct Input {
    coordination::Fact fact;
    Time arrived;
  };

  enum class By { kCaller, kTimer };  // Who works on a fact if nobody is at work.
  void Post(coordination::Fact fact, By by = By::kCaller);
  // Until there is nothing left to do. Both with the lock held, which is given up meanwhile.
  void Work(std::unique_lock<std::mutex>& lock);
  void WorkOnce(std::unique_lock<std::mutex>& lock);
  void OfferSpare(std::unique_lock<std::mutex>& lock);
  void RunTimer();
  void Process(const coordination::Fact& fact, Time arrived);
  void TellPolicy(const sync::Event& event);
  void DoAll();
  void Measure();
  std::optional<Time> NextDeadline() const;

  // One for each effect.
  void Do(const coordination::Observe& effect);
  void Do(const coordination::SendWorker& effect);
  void Do(const coordination::CloseWorker& effect);
  void Do(const coordination::SendShard& effect);
  void Do(const coordination::CloseShard& effect);
  void Do(const coordination::ConfigureShards& effect);
  void Do(const coordination::VersionPublished& effect);
  void Do(const coordination::EpochCompleted& effect);
  void Do(const coordination::EvaluationDone& effect);
  void Do(const coordination::WorkerEvent& effect);
  void Do(const coordination::SamplePoisoned& effect);
  void Do(const coordination::TrainingOpened& effect);
  void Do(const coordination::PolicyChanged& effect);
  void Do(const coordination::PolicyChose& effect);
  void Do(const coordination::SaveModel& effect);
  void Do(const coordination::ModelNotSaved& effect);
  void Do(const coordination::Finished& effect);
  void Do(const coordination::CutCheckpoint& effect);
  void Do(const coordination::CompleteCheckpoint& effect);
  void Do(const coordination::ForsakeCheckpoints& effect);
  void Do(const coordination::CheckpointEvent& effect);
  void Do(const coordination::RolledBack& effect);
  void Do(const coordination::OptimizerReset& effect);

  const DriverOptions options_;
  DriverMetrics* const metrics_;

  // Of whoever is at work.
  std::unique_ptr<sync::Policy> policy_;  // Null until training opens.
  coordination::Coordinator coordinator_;
  std::vector<protocol::ShardAddress> addresses_;  // Slices are empty until ConfigureShards.
  store::Layout layout_;
  std::optional<std::string> room_problem_;  // Absent before it was looked for.
  std::vector<std::string> idle_patterns_;   // Of parameter groups, for that layout.
  ProgressMeter meter_;
  StragglerWatch stragglers_;
  Time measure_from_{};                        // When progress_ is worked out again...
  bool has_moved_ = true;                      // ...if something has happened since the last time.
  Time spare_from_{};                          // When the policy may have spare time again.
  Time arrived_{};                             // When the fact in work came in...
  Time now_{};                                 // ...and when work on it began.
  std::vector<coordination::Effect> effects_;  // Still to do; empty between facts.
  struct PolicyCut {
    std::string checkpoint;
    std::string saved;
  };
  PolicyCut cut_;                     // Of the newest checkpoint that was begun.
  std::string checkpoint_completed_;  // As in Progress.
  std::thread saver_;
  // Of the saver: the final model, from the first attempt to write it until one succeeds.
  struct FetchedModel {
    Generation generation;
    Version version;
    std::vector<std::byte> bytes;
  };
  std::optional<FetchedModel> model_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;  // The timer's, and the destructor's.
  std::condition_variable finished_wake_;
  std::deque<Input> inputs_;
  std::map<coordination::ConnectionId, std::shared_ptr<WorkerConnection>> workers_;
  std::map<ShardId, std::shared_ptr<ShardConnection>> shards_;
  std::map<ShardId, std::string> shard_addresses_;
  coordination::ConnectionId next_connection_{1};
  bool is_at_work_ = false;  // Some thread is in Work.
  bool is_stopping_ = false;
  Time turned_;                     // When a round of work last ended; at first, the beginning.
  Time deaf_until_{};               // Deadlines are not looked at before.
  std::optional<Time> deadline_;    // As of the last work: when there is some without a fact.
  Time timer_until_ = Time::max();  // What the timer waits for.
  Progress progress_;
  std::optional<coordination::Finished> finished_;
  std::optional<Background> background_;  // Writes checkpoints; there from the first one on.
  std::thread timer_;                     // Last: it uses the rest.
};

}  // namespace paceline::ps
