// Decides which processes of a job should exist and what its status is: one pure function for the
// operator and for a laptop.
//
// A shell observes, plans, applies, and does so again when something changed or at `requeue_at`:
//   const Plan plan = PlanJob(job, Observe(), now);
//
//   Record(plan.status);  // Before the actions: it holds the number of the coordinator's life.
//
//   for (const Action& action : plan.actions) Apply(action);
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/time.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/reason.h"
#include "lib/job/state/observation.h"

namespace paceline::job {

// Starts a process. What is left of an earlier one of that name (seen as kExited) goes first.
struct Start {
  std::string name;
  Role role = Role::kWorker;
  int64_t index = 0;
  uint64_t generation_start = 0;  // The coordinator's life that it belongs to.
  // Starts of this name before; the shell hands it back in SeenProcess. Of one that went away
  // without a trace: at least those that are known of.
  int64_t attempt = 0;
  int64_t failures = 0;               // Failures that still count against it; handed back too.
  int64_t unfit = 0;                  // Machines that could not do the work; likewise.
  int64_t disruptions = 0;            // Times that it was taken away; likewise.
  std::string avoid_node;             // Not on this machine; empty if any will do.
  bool may_use_avoided_node = false;  // On that one only where no other has room.
  bool shares_output = false;         // The claim of spec.output.volume is one that all can mount.
  std::string group = {};             // Of workers, in a job with groups; else empty.
  friend bool operator==(const Start&, const Start&) = default;
};

// Asks a process to end, and ends it after `grace`. Of an exited one: takes away what is left of
// it. A grace of zero is for one that cannot be asked, its machine being lost: it counts as gone
// from now on, whatever becomes of it.
struct Stop {
  std::string name;
  Duration grace{};
  PlanReason reason = PlanReason::kJobFinished;
  friend bool operator==(const Stop&, const Stop&) = default;
};

using Action = std::variant<Start, Stop>;

enum class EventType { kNormal, kWarning };
PACELINE_WORDS(EventType, "Normal", "Warning")

struct PlanEvent {
  EventType type = EventType::kNormal;
  PlanReason reason = PlanReason::kJobSeen;
  std::string message;
  bool ends_job = false;  // How it ended: to be told whatever was told before.
  friend bool operator==(const PlanEvent&, const PlanEvent&) = default;
};

struct Plan {
  std::vector<Action> actions;  // In order; they do not wait for one another.
  JobStatus status;
  std::vector<PlanEvent> events;
  std::optional<Time> requeue_at;  // Plan then if nothing happens first.
  bool is_expired = false;         // ttlSecondsAfterFinished is over: the job itself may go.
};

// Who places together the pods of a job that asks for it (AsksForGang).
enum class GangPlacement {
  kOneMachine,   // Nobody has to.
  kNobody,       // They are placed one by one.
  kByScheduler,  // A gang scheduler.
};

struct PlanOptions {
  GangPlacement gangs = GangPlacement::kOneMachine;
  // There is a place for checkpoints that nobody asked for, whatever the spec says of volumes.
  bool has_place_for_checkpoints = false;
  bool can_recover_shards = false;  // Otherwise a lost parameter server fails the job.
  // A model that would go with its coordinator's pod is served by it (docs/adr/0030). Otherwise
  // where models are is the shell's to say.
  bool serves_models = false;
  // How often a worker is started again whose machine cannot do the work, at most: for where there
  // is no other machine. Absent: as often as backoffLimit says, as is one that has joined: its step
  // hung, say, and may not do so another time.
  std::optional<int64_t> unfit_retries;
  Duration backoff_min =
      std::chrono::seconds(1);  // Before the first restart; doubles with each failure...
  Duration backoff_max = std::chrono::minutes(5);     // ...up to this.
  Duration healthy_after = std::chrono::minutes(10);  // Running this long forgets past failures.
  Duration stop_grace = std::chrono::seconds(30);
  // A parameter server that runs, and that the coordinator lost so long ago, is started anew...
  Duration lost_shard_patience = std::chrono::seconds(10);
  // ...and one that has not come to it, so long after its start; twice as long with each start
  // before, up to backoff_max.
  Duration shard_comes_within = std::chrono::seconds(60);
  // A coordinator that does not answer for so long is told of.
  Duration silence_patience = std::chrono::seconds(20);
  // Once the coordinator has said that training is over everybody ends by itself; what still runs
  // so much later is stopped.
  Duration ending_grace{};
};

// Complete: the whole plan every time, from what is seen alone. Level-based: a lost or doubled call
// changes nothing but the time. Facts that make no sense are answered by a plan with a reason. The
// job is a valid one with its defaults.
Plan PlanJob(const TrainingJob& job, const Observation& seen, Time now,
             const PlanOptions& options = {});

// Whether the job is this program's to run, by runPolicy.managedBy. Others' are not touched.
bool IsOurs(const TrainingJob& job);

// True once Succeeded or Failed holds; it then holds for ever.
bool IsFinished(const JobStatus& status);

// Whether the job is over and its coordinator's pod serves the model, as far as was recorded.
bool HasModelServed(const JobStatus& status);

// Whether the evaluator is not started again; status.evaluator_gone says why.
bool IsEvaluatorGone(const JobStatus& status);

const Condition* FindCondition(const JobStatus& status, ConditionType type);
bool Holds(const JobStatus& status, ConditionType type);

// "start digits-worker-3 generation=1 attempt=2 failures=1", "stop digits-worker-3 Straggler"; with
// " unfit=1", " disruptions=1", " avoid=node-2", " prefer-not=node-2" and " now" where that is
// said.
std::string ToString(const Action& action);

}  // namespace paceline::job
