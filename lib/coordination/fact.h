// Defines Fact: what coordination is told about workers, shards, the evaluator, the policy and the
// final model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/version.h"
#include "lib/coordination/checkpoint.h"
#include "lib/coordination/hang_options.h"
#include "lib/coordination/judging.h"
#include "lib/coordination/ledgers/seats.h"
#include "lib/optim/schedule.h"
#include "lib/protocol/shard_messages.h"
#include "lib/protocol/worker_messages.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::coordination {

struct ConnectionTag {
  static constexpr const char* kPrefix = "c";
};
// One session of one process with the coordinator, never used twice; what the shell knows a sender
// by.
using ConnectionId = Id<ConnectionTag>;

// A worker or evaluator said something; the first message of a connection is a Join.
struct WorkerSaid {
  ConnectionId connection;
  protocol::WorkerMessage message;
};
// The connection ended, whoever closed it. Said once; nothing of that connection follows.
struct WorkerGone {
  ConnectionId connection;
};

struct ShardSaid {
  ShardId shard;
  protocol::ShardMessage message;
};
struct ShardGone {
  ShardId shard;
  std::string reason;
};

// What the policy decided on the event of one Observe effect, in order.
struct Decided {
  std::vector<sync::Decision> decisions;
};

struct DeadlineReached {};  // `now` is at or past Coordinator::Deadline().
enum class StopKind {
  kFinish,   // With the model so far.
  kFail,     // At once.
  kSuspend,  // With a checkpoint to go on from, where there is a place for one.
};
struct StopAsked {
  std::string reason;
  StopKind kind = StopKind::kFinish;
};  // From the planner or the user.
// The final model's values are with the coordinator: it needs no shard any more.
struct ModelFetched {
  Version version;
  Generation generation;
};
struct ModelSaved {
  Version version;
  Generation generation;
  std::string problem;            // Empty: it is on disk.
  bool is_fetch_problem = false;  // The shards could not be asked; the disk was not.
};                                // Answer to SaveModel.
struct CheckpointSaved {
  Checkpoint checkpoint;  // As in CompleteCheckpoint, with the policy's part filled in.
  std::string problem;    // Empty: it is complete on disk.
};                        // Answer to CompleteCheckpoint.

// How far training goes and at which rate; as in CoordinatorOptions.
struct Course {
  uint64_t epochs_max = 0;
  uint64_t steps_max = 0;
  optim::ScheduleOptions schedule;
};

// How often versions are evaluated, and what makes one better; as in CoordinatorOptions.
struct Evaluations {
  Duration period{};
  Measure measure;
  double least_gain = 0;
};

// What may change in a running job did, or whom nobody starts again; from the planner or the user.
// The policy that the shell would make now is another one where `is_policy_changed`; where it would
// be the same with other knobs, the running one is told.
struct SpecChanged {
  uint32_t workers_wanted = 1;
  uint32_t workers_min = 1;
  bool is_policy_changed = false;
  std::optional<sync::PolicySpec> reconfigured = std::nullopt;  // As sync::MayReconfigure allows.
  std::optional<std::string> evaluator_gone = std::nullopt;     // It is not started again, and why.
  // From the next commit on. The schedule goes on from where it is, by samples; what is passed
  // already means: stop with that commit.
  std::optional<Course> course = std::nullopt;
  std::vector<GroupOptions> groups = {};  // As in CoordinatorOptions.
  // Another measure knows of no best version yet.
  std::optional<Evaluations> evaluations = std::nullopt;
  std::optional<HangOptions> hang = std::nullopt;
};
// These workers are to leave: each finishes the step that it is in, and is told to go.
struct DrainAsked {
  std::vector<protocol::Seat> workers;
};
// A worker that has not joined yet hands over frozen tensors for the model file: so much of so
// much.
struct FrozenArriving {
  uint64_t bytes = 0;
  uint64_t total = 0;
};

// How one is copied, moved and ended is compiled once, in fact.cc: it is long for so many kinds.
struct Fact : std::variant<WorkerSaid, WorkerGone, ShardSaid, ShardGone, Decided, DeadlineReached,
                           StopAsked, ModelFetched, ModelSaved, CheckpointSaved, SpecChanged,
                           DrainAsked, FrozenArriving> {
  using variant::variant;
  Fact();
  Fact(const Fact& other);
  Fact(Fact&& other) noexcept;
  Fact& operator=(const Fact& other);
  Fact& operator=(Fact&& other) noexcept;
  ~Fact();
};

}  // namespace paceline::coordination
