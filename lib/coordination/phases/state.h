// Defines JobState, everything that the coordinator remembers, and Turn, one Step's view of it.
//
// Inside lib/coordination only. The phases of a job are free functions over a Turn, one file of
// this folder for each reason to change.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/id_table.h"
#include "lib/base/time.h"
#include "lib/coordination/coordinator.h"
#include "lib/coordination/effect.h"
#include "lib/coordination/fact.h"
#include "lib/coordination/ledgers/checkpoint_cost.h"
#include "lib/coordination/ledgers/commit_progress.h"
#include "lib/coordination/ledgers/lease_ledger.h"
#include "lib/coordination/ledgers/membership.h"
#include "lib/coordination/ledgers/push_ledger.h"
#include "lib/coordination/ledgers/seats.h"
#include "lib/coordination/ledgers/shard_watch.h"
#include "lib/coordination/ledgers/starved.h"
#include "lib/coordination/phases/finishing_state.h"
#include "lib/coordination/phases/recovery_state.h"
#include "lib/store/layout.h"

namespace paceline::coordination {

// What a shard has said of its own startup.
struct ShardState {
  bool is_registered = false;
  bool is_configured = false;
  bool is_opened = false;
  std::optional<std::pair<WorkerId, Incarnation>> filled;
};

struct StartupState {
  std::optional<Time> started;             // `now` of the first Step.
  std::vector<ShardState> shards;          // By rank.
  std::optional<FrozenArriving> arriving;  // What a worker hands over before it joins...
  Time arrived{};                          // ...and when some of it came last.
  bool is_configuring = false;             // ConfigureShards went out.
  bool has_announced = false;              // Every member was told Shards.
  bool is_opening = false;                 // Open went out.
  bool is_schedule_over = false;           // schedule_timeout passed: `min` is enough.
  bool is_recovery = false;            // There was a life before, of this coordinator or another's.
  std::optional<uint32_t> needed;      // Workers there were before; absent: as many as wanted.
  std::optional<Time> opened;          // When all shards were open.
  bool is_gathered = false;            // regather_timeout passed: `min` is enough.
  bool is_first_kept = false;          // The first version's checkpoint was made or tried.
  std::optional<ConnectionId> filler;  // Told Fill, and still a member.
};

struct EvaluationState {
  std::optional<Version> pinned;  // A commit was flagged, and not unpinned since.
  std::optional<Version> asked;   // Evaluate went to the evaluator; it owes the answer.
  Time started;                   // Of the last flagged commit; training's opening before.
  std::optional<protocol::Evaluated> newest;
  Judged judged;
  // The best one of this generation, where it is to be the model: pinned, or the last of all.
  std::optional<protocol::Evaluated> kept;
  std::optional<store::Layout>
      evaluator_layout;  // Of one that joined before the job's layout was known...
  std::vector<protocol::FrozenTensor> evaluator_frozen;  // ...and what it has by itself.
};

struct CheckpointingState {
  std::vector<Checkpoint> complete;  // Oldest first.
  uint64_t serial = 0;
  struct Attempt {
    Checkpoint checkpoint;
    std::set<ShardId> saved;
    Time deadline;
    bool is_completing = false;  // CompleteCheckpoint went out.
  };
  std::optional<Attempt> attempt;
  // The last one that CompleteCheckpoint went out for and that has not been answered for, whether
  // or not it is still the attempt: what it does not keep may be gone already.
  std::string completing;
  bool is_forsaken = false;     // That one, as soon as it is there.
  std::optional<Time> started;  // Of the last attempt.
  CheckpointCost cost;
  std::string problem;  // Of the last attempt.
};

// A member that is to be lost, once the policy has answered what it was asked before.
struct Loss {
  ConnectionId connection;
  sync::LeaveReason reason = sync::LeaveReason::kDisconnected;
  WorkerEventKind kind = WorkerEventKind::kLeft;
  std::string detail;
  std::optional<protocol::WorkerOrder> farewell;
  bool is_open = true;  // The connection is still there, to be closed.
};

// What changes while training goes on (changing.h).
struct ChangeState {
  std::optional<Time> quiesced;  // Set: the policy is being changed; what it has not answered then
                                 // is given up.
  std::set<WorkerId> outstanding;  // Members that owe a push to a policy that is gone.
  std::set<WorkerId> draining;     // Members that leave once they owe none.
};

// What a worker's pushes of late say of it (poisoning.h).
struct Health {
  std::optional<Version> finite_on;  // Its latest finite push was based on that.
  uint32_t ill_in_a_row = 0;         // Pushes since then that were not finite.
  // The last one made the copy ill that the worker goes on from, until it pulls. So many leases
  // more may be computed on that.
  bool is_copy_ill = false;
  size_t spoilt = 0;
};

// Of a worker's session: its steps, each of one lease.
struct StepCount {
  uint64_t computed = 0;  // As its latest heartbeat says: begun and ended.
  uint64_t told = 0;      // Pushed or given up.
};

// The script's own sampler, if it has one (sampling.h).
struct Sampling {
  std::optional<std::string> sampler;  // As the first worker of this life names it; empty: none.
  struct First {
    protocol::Drawn drawn;
    protocol::Seat by;
  };
  std::map<uint64_t, First> drawn;  // By epoch, of the last few: who said so first.
};

// Of the latest publication.
struct CommitFigures {
  double loss = 0;
  double train_accuracy = 0;
};

inline CommitProgress::Options ProgressOptionsOf(const CoordinatorOptions& options) {
  return {options.shards, options.gradient_clip_norm, options.is_layer_wise};
}

struct JobState {
  explicit JobState(CoordinatorOptions o)
      : options(std::move(o)),
        membership({options.heartbeat_period, options.silent_after}),
        commits(ProgressOptionsOf(options)),
        watch(options.shard_watch) {
    startup.shards.resize(options.shards);
    if (!options.checkpoint.has_value()) return;
    checkpointing.complete = std::move(options.checkpoint->found);
    checkpointing.serial = options.checkpoint->serial;
  }

  CoordinatorOptions options;
  Phase phase = Phase::kStartup;
  Seats seats;
  Membership membership;
  PushLedger pushes;
  CommitProgress commits;
  ShardWatch watch;
  std::optional<store::Layout> layout;  // The first worker's, as are the leases' sizes.
  uint64_t train_samples = 0;           // Of an epoch.
  std::optional<std::vector<protocol::FrozenTensor>> frozen;  // As the first worker has them.
  Sampling sampling;
  std::optional<LeaseLedger> leases;
  StartupState startup;
  EvaluationState evaluation;
  FinishingState finishing;
  CheckpointingState checkpointing;
  RecoveryState recovery;
  ChangeState change;

  bool is_asking = false;                             // An Observe is out, its Decided not yet in.
  bool is_answer_stale = false;                       // ...which is of the generation before.
  std::deque<std::variant<sync::Event, Loss>> later;  // In order, for when it is.
  IdSet<WorkerId> participants;                       // Whom the policy believes to be members.
  Starved starved;                                    // Of these.
  // Whose scripts ended in this generation, and no process joined in their place.
  IdSet<WorkerId> ended;
  uint64_t returns_seen = 0;  // Of the leases.

  IdTable<WorkerId, sync::Pacing> pacings;       // That each was last sent on with.
  IdTable<WorkerId, double> seconds_per_sample;  // Of its recent pushes, injected delays left out.

  IdTable<WorkerId, Health> health;          // Of present incarnations.
  IdTable<WorkerId, StepCount> step_counts;  // Likewise.

  std::optional<PushKind> last_kind;  // Of the newest commit of this generation.
  uint64_t committed_samples = 0;     // Of published versions.
  uint64_t decided_samples = 0;       // Of all commits asked for.
  CommitFigures figures;
  uint64_t nonfinite_pushes = 0;
  std::set<WorkerId> nonfinite_workers;  // Since the last commit...
  std::string nonfinite_tensor;          // ...and the first tensor of the first such push.
  IdTable<WorkerId, WorkerStatus> workers;
  std::string outcome;
  bool is_success = false;
  bool is_suspended = false;
};

// One owner, for the length of one Step.
struct Turn {
  JobState& job;
  Time now;
  std::vector<Effect>& effects;

  void Send(ConnectionId to, protocol::WorkerOrder order) const {
    effects.push_back(SendWorker{to, std::move(order)});
  }
  // Each order to every shard. The coordinator's own, rank 0, comes last: it may act on it at once,
  // and the others need not wait for that.
  void SendShards(const CommitProgress::Orders& orders) const {
    for (const protocol::ShardOrder& order : orders) {
      for (uint64_t rank = job.options.shards; rank-- > 0;)
        effects.push_back(SendShard{ShardId(rank), order});
    }
  }
  void Order(protocol::ShardOrder order) const {
    CommitProgress::Orders out;
    job.commits.Give(std::move(order), out);
    SendShards(out);
  }
};

}  // namespace paceline::coordination
