// Defines Coordinator: the pure core of the coordinating process. Who is a member, which pushes are
// staged where, which samples are whose, how far a commit has got, when the job is over.
//
// It is a composition of four ledgers (membership.h, push_ledger.h, lease_ledger.h,
// commit_progress.h) and of the phases of a job: Startup -> Training -> Finishing -> Over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/coordination/checkpoint.h"
#include "lib/coordination/effect.h"
#include "lib/coordination/fact.h"
#include "lib/coordination/hang_options.h"
#include "lib/coordination/judging.h"
#include "lib/coordination/ledgers/seats.h"
#include "lib/coordination/ledgers/shard_watch.h"
#include "lib/optim/parameter_groups.h"
#include "lib/optim/schedule.h"

namespace paceline::coordination {

enum class OnDrop { kReturn, kDiscard };
struct Target {
  Measure measure{"Accuracy", /*is_higher_better=*/true};
  double value = 0;  // At least, where higher is better; else at most.
};

// What becomes of the job when the model is at fault that gradients are not finite (recovering.h).
enum class NonFiniteAction { kRollBack, kFail };
struct NonFiniteOptions {
  NonFiniteAction action = NonFiniteAction::kRollBack;
  double learning_rate_factor = 0.5;  // At each roll back.
  uint32_t limit = 3;                 // Roll backs in the life of the job.
};

struct CoordinatorOptions {
  Generation generation{1, 0};
  uint32_t shards = 1;
  uint32_t workers_wanted = 1;  // replicas
  uint32_t workers_min = 1;     // minReplicas
  uint32_t workers_max = 1024;  // Their numbers are below this.
  // Of several kinds; empty: of one. `workers_wanted` and `workers_min` are their sums.
  std::vector<GroupOptions> groups;
  WireTypes wire_types;  // Of all workers.
  Duration shards_timeout =
      Seconds(120);  // For all shards to register; then the job fails and says who is missing.
  // Too few workers after schedule_timeout are waited for: somebody else gives up, or finds more.
  bool waits_for_workers = false;
  Duration schedule_timeout = Seconds(
      600);  // For `wanted` workers; then training opens with at least `min`. Failure without.
  Duration heartbeat_period = Seconds(1);
  Duration silent_after = Seconds(6);  // Without a word from a member: it is lost.
  ShardWatch::Options shard_watch;     // How long a shard may be silent, or stuck.
  Duration quiesce_timeout = Seconds(10);
  Duration evaluation_timeout = Seconds(120);
  bool is_deterministic =
      false;  // Training opens only when all wanted workers are there; leases in worker order.
  OnDrop on_drop = OnDrop::kReturn;
  uint32_t global_batch_size = 1;
  uint64_t epochs_max = 0;  // 0: no bound.
  uint64_t steps_max = 0;   // Versions to publish; 0: no bound.
  std::optional<Target> target;
  JudgingOptions judging;
  bool has_evaluator = false;
  bool averages_weights = false;  // What is evaluated and written is their moving average.
  Duration evaluation_period = Seconds(10);
  std::optional<double> gradient_clip_norm;
  // For the shards. A worker of a version before has in its layout what these freeze; a script's
  // worker of this version has it by itself.
  std::vector<optim::ParameterGroup> parameter_groups;
  bool is_layer_wise = false;  // The optimizer of gradients (optim::IsLayerWise).
  // total_samples, step_samples and period_samples at 0 are worked out from the training set.
  optim::ScheduleOptions schedule;
  uint64_t schedule_step_epochs = 0;    // kStep: epochs between two cuts, where step_samples is 0.
  uint64_t schedule_period_epochs = 0;  // kCosineRestarts: likewise of period_samples.
  uint64_t seed = 0;
  // The second one is made when a worker first pushes before its last push was answered.
  uint32_t slots_per_worker = 2;
  HangOptions hang;
  NonFiniteOptions non_finite;
  std::optional<CheckpointOptions> checkpoint;  // Absent: there is no place for any.
  // After a loss: for lost shards to register again...
  Duration recovery_timeout = Seconds(600);
  // ...and, once all shards are open again, for as many workers as before; then `min` are enough.
  Duration regather_timeout = Seconds(30);
};

enum class Phase { kStartup, kTraining, kFinishing, kOver };

// A process that was expelled: it is not admitted again, another one on its seat is.
struct Quarantine {
  std::optional<uint64_t> attempt;  // Which process it was, by its Join.
  std::string reason;
  bool is_hung = false;
  Time since;
};

struct WorkerStatus {
  WorkerId worker;
  protocol::Seat seat;
  Incarnation incarnation;
  bool is_member = false;
  std::string device;        // That it computes on, as it said when it joined last...
  uint32_t threads = 0;      // ...and with how many threads.
  bool is_draining = false;  // Asked to leave; finishes its step.
  uint64_t steps = 0;        // Pushes, over all incarnations.
  uint64_t samples_committed = 0;
  uint64_t accepted = 0;
  uint64_t dropped = 0;
  uint64_t overflows = 0;  // Steps abandoned because gradients overflowed under loss scaling.
  double loss_scale = 0;   // As of its latest push or overflow; 0 without loss scaling.
  uint64_t staleness = 0;  // Of its latest accumulated push: versions published since it was based.
  sync::Timing total;      // Sum over its pushes.
  protocol::Traffic traffic;                          // Likewise.
  uint32_t batch_size = 0;                            // Of its latest assignment.
  double loss = 0;                                    // Of its latest push.
  protocol::Doing doing = protocol::Doing::kWaiting;  // By its latest heartbeat.
  uint64_t expulsions = 0;                            // Of all its incarnations.
  std::optional<Time> in_script_since;  // By its latest heartbeat: without a sign of progress.
  bool has_ended = false;  // Its script ended by itself: no process is to take its place.
  std::optional<Quarantine> quarantine;  // Expelled, and no other process has its seat yet.
};

// What roll backs cost: what was done and is void.
struct Setback {
  uint64_t steps = 0;
  Duration training{};  // From the cut that was gone back to, or from when training opened.
};

struct Status {
  struct LostShard {
    ShardId shard;
    std::string reason;
    Time since;
    bool was_there = false;  // In this coordinator's life.
  };
  struct ShardWait {
    ShardId shard;
    std::string what;
    Time since;  // It has done none of it.
  };

  Phase phase = Phase::kStartup;
  Version version;
  uint64_t committed_samples = 0;
  uint64_t skipped_samples = 0;  // Of them: the script did without.
  uint64_t train_samples = 0;
  uint64_t epoch = 0;                             // Oldest that is not complete.
  double loss = 0;                                // Sample-weighted mean of the latest commit.
  double train_accuracy = 0;                      // Likewise; 0 where it is not defined.
  std::optional<protocol::Evaluated> evaluation;  // The newest; of a model that is written, its.
  Judged judged;
  std::optional<Version> kept;  // The best one that shards still have.
  uint32_t waiting_for = 0;     // Members that owe a push.
  uint64_t nonfinite_pushes = 0;
  Generation generation;
  uint64_t roll_backs = 0;                    // Of this coordinator's life.
  std::string last_roll_back;                 // Why and to where, in words.
  Setback lost;                               // By all of them...
  Setback last_lost;                          // ...and by the last one.
  Version rolled_back_from;                   // By the last one...
  Version rolled_back_to;                     // ...to this; 0: begun anew.
  std::optional<Version> restored_from;       // What this generation began with, if not at startup.
  std::optional<Version> checkpoint_version;  // Of the newest complete one.
  Duration checkpoint_period{};          // From one to the next, as it is now; 0: none are made.
  std::string checkpoint_problem;        // Of the latest attempt; empty: it went well.
  Duration checkpoint_cost{};            // Of training's time, by the last one.
  uint64_t frozen_parameters = 0;        // That workers have by themselves.
  std::string model_problem;             // Why the final model is not written yet, or empty.
  std::vector<WorkerStatus> workers;     // By number, those that ever joined.
  std::vector<PoisonedSample> poisoned;  // Samples left out, in the order they were found.
  std::string startup_waits_for;         // In kStartup: who is missing, in words.
  // Why training has reached its stop; nothing while there is some to do, now or in another life.
  std::optional<std::string> stop_reason;
  std::optional<Version> model_version;  // Of the model that is written.
  bool have_scripts_ended = false;       // That is the reason.
  bool is_evaluator_gone = false;        // Nobody starts it again.
  // Why nobody can judge the target, or what is best; empty: somebody may.
  std::string target_problem;
  std::vector<LostShard> lost_shards;  // Not registered by now, by rank.
  std::vector<ShardWait> shard_waits;  // What shards owe, by rank.
  bool is_changing_policy = false;     // The old one is quiesced, the new one not made.
  std::string outcome;                 // In kOver.
  bool is_success = false;
  bool is_suspended = false;
};

// Which shard, or whose script, all stands still for, and why; empty while none is waited for
// longer than usual.
std::string StandstillInWords(const Status& status, Time now);

// One owner at a time, a value: a copy is an independent world. `now` never decreases. Facts that
// make no sense are answered with an effect or ignored with a reason, never a crash; each Step ends
// with a consistent state, whatever is lost after it.
class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options);
  Coordinator(const Coordinator& other);
  Coordinator& operator=(const Coordinator& other);
  ~Coordinator();

  // Appends; CarryOut (carry_out.h) has the order. At most one is Observe: its Decided is the next
  // fact, and the effects of that come after those of this call. A policy's own DeadlineReached is
  // the shell's to report; what it decides then is handed in as Decided too, while no Observe is
  // out.
  void Step(const Fact& fact, Time now, std::vector<Effect>& effects);
  // When to Step with DeadlineReached if nothing else happens first. Before the first Step: at once
  // (Time::min()), since that Step starts the clock of startup.
  std::optional<Time> Deadline() const;
  Status status() const;

  // The lease ledger in words, for tests and the status page: per epoch how many samples are free,
  // leased, accumulated, committed, discarded, and how many of the committed were skipped.
  struct EpochCount {
    uint64_t epoch, free, leased, accumulated, committed, discarded, skipped;
  };
  // Oldest first: the last `complete_max` that are complete, and the open ones.
  std::vector<EpochCount> epochs(size_t complete_max = SIZE_MAX) const;

  // Internal if the lease ledger has a sample in no state or in two. Slow: for tests and walks.
  paceline::Status Check() const;
  // All that decides what comes next, without times: equal texts, equal futures but for the clock.
  // For walks.
  std::string Describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paceline::coordination
