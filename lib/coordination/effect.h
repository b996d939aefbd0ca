// Defines Effect: what coordination wants the shell to do, in order.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "lib/base/ids.h"
#include "lib/base/push_kind.h"
#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/coordination/fact.h"
#include "lib/coordination/ledgers/lease_ledger.h"
#include "lib/coordination/ledgers/shard_watch.h"
#include "lib/protocol/shard_messages.h"
#include "lib/protocol/worker_messages.h"
#include "lib/sync/contract/event.h"

namespace paceline::coordination {

// Ask the policy, then hand its decisions back as Decided before the next fact of any other kind.
struct Observe {
  sync::Event event;
};

// A Shards order comes with an empty list: the shell, which knows addresses and slices, fills it
// in.
struct SendWorker {
  ConnectionId connection;
  protocol::WorkerOrder order;
};
struct CloseWorker {
  ConnectionId connection;
};  // After what was sent before.
struct SendShard {
  ShardId shard;
  protocol::ShardOrder order;
};
// It is lost, though its session may be open: end that, so that the rank may register anew. Nothing
// that is said in it counts any more.
struct CloseShard {
  ShardId shard;
  ShardLoss why;
  std::string reason;
};

// The first worker's layout, or the checkpoint's, is the job's: cut it into slices, send Configure
// to every shard. Coordination goes on when all have said Configured.
struct ConfigureShards {
  store::Layout layout;
  Generation generation;
  struct From {
    std::string checkpoint;
    Version version;
    std::vector<store::FileDigest> slices;  // By rank.
    std::optional<Version> kept;            // Of the same files: to be pinned.
  };
  std::optional<From> restore;                      // Absent: a worker fills them.
  std::vector<protocol::FrozenTensor> frozen = {};  // What workers have beside the layout.
};

// A checkpoint of the commit that was just sent is begun: keep what Policy::Save says now.
struct CutCheckpoint {
  std::string name;
};
// All shards have written their slices: write the rest, with the policy's part of that cut, and let
// go of all but these. Answer CheckpointSaved.
struct CompleteCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> keep;  // This one's name included.
};
// The job goes back beyond these, which may hold what made the model ill: nobody, and no later
// coordinator, shall go on from them. That is durable before any effect after this one is carried
// out.
struct ForsakeCheckpoints {
  std::vector<std::string> names;
};
// For people: one was completed (empty problem), or was given up, or cannot be restored from.
struct CheckpointEvent {
  std::string name;
  Version version;
  std::string problem;
};

// The generation is over and what came after `to` is void; sessions of workers are being closed.
// The policy is of no more use: the next TrainingOpened makes another.
struct RolledBack {
  Generation generation;           // The new one.
  std::string reason;              // In words: what happened and what it goes back to.
  std::optional<Version> version;  // Absent: the job begins anew.
  uint64_t steps_lost = 0;
  Duration training_lost{};
};

// All shards have published the version: telemetry and status.
struct VersionPublished {
  Version version;
  uint64_t committed_samples = 0;
  double loss = 0;
  double learning_rate = 0;
  uint64_t skipped_samples = 0;  // Of the committed: the script did without them.
};
// For people: pushes are of the other kind from that version on, and what the optimizer has learnt
// (momentum, moments) is forgotten.
struct OptimizerReset {
  Version version;
  PushKind kind = PushKind::kGradient;
};
struct EpochCompleted {
  uint64_t epoch = 0;
};  // Counted from 0.
struct EvaluationDone {
  protocol::Evaluated result;
  bool is_best = false;    // So far.
  bool cuts_rate = false;  // The learning rate is lower from the next commit on.
};

// For people: it made workers ill, or killed them, and is left out from now on.
struct SamplePoisoned {
  PoisonedSample sample;
};

enum class WorkerEventKind { kJoined, kLeft, kSilent, kRefused, kExpelled, kHung, kNonFinite };
struct WorkerEvent {
  WorkerEventKind kind;
  WorkerId worker;
  Incarnation incarnation;
  std::string detail;
  protocol::Seat seat;
};  // For log and events.

// Before the first Observe: make the policy now, to expect `workers` joins.
struct TrainingOpened {
  uint32_t workers = 0;
  uint32_t wanted = 0;
  Version version;                 // Published now.
  uint64_t committed_samples = 0;  // In it.
  std::string policy;              // What Policy::Save said at that version; may be empty.
};
// The policy has answered everything and is over: make the one that is wanted now, on `version`, to
// expect `workers` joins (if that is 0, the first one).
struct PolicyChanged {
  Version version;
  uint32_t workers = 0;
};
// For people: how a policy goes on that chooses by itself, from that version on.
struct PolicyChose {
  sync::Chosen chosen;
  Version version;
};
struct SaveModel {
  Version version;
  Generation generation;
  std::vector<protocol::FrozenTensor> frozen = {};  // What workers have themselves.
};  // Assemble from all shards (ModelFetched) and write; answer ModelSaved. Again, after a problem
    // of the disk: write what was fetched.
// For people: the final model could not be written; it is kept, and tried again after that pause.
struct ModelNotSaved {
  std::string problem;
  Duration pause{};
};
struct Finished {
  bool is_success = false;
  std::string reason;
  bool is_suspended = false;  // Neither success nor failure: it may go on later.
  bool is_unjudged = false;   // A failure: training ended since nobody can judge its target.
};                            // Nothing follows it but StopShard orders before.

// How one is copied, moved and ended is compiled once, in effect.cc: it is long for so many kinds.
struct Effect
    : std::variant<Observe, SendWorker, CloseWorker, SendShard, CloseShard, ConfigureShards,
                   VersionPublished, EpochCompleted, EvaluationDone, WorkerEvent, TrainingOpened,
                   PolicyChanged, SaveModel, ModelNotSaved, Finished, CutCheckpoint,
                   CompleteCheckpoint, ForsakeCheckpoints, CheckpointEvent, RolledBack,
                   OptimizerReset, SamplePoisoned, PolicyChose> {
  using variant::variant;
  Effect();
  Effect(const Effect& other);
  Effect(Effect&& other) noexcept;
  Effect& operator=(const Effect& other);
  Effect& operator=(Effect&& other) noexcept;
  ~Effect();
};

}  // namespace paceline::coordination
