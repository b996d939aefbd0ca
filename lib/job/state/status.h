// Defines a job's status: what the planner and the coordinator report, and facts that must outlive
// the processes they are about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/job/manifest/enums.h"

namespace paceline::job {

// Times here count from the Unix epoch (rfc3339.h writes them).

struct Condition {
  ConditionType type = ConditionType::kCreated;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;  // A word of PlanReason (plan/reason.h).
  std::string message;
  int64_t observed_generation = 0;
  std::optional<Time> last_transition_time;
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct ReplicaStatus {
  int64_t active = 0;
  int64_t ready = 0;
  int64_t succeeded = 0;
  int64_t failed = 0;
  friend bool operator==(const ReplicaStatus&, const ReplicaStatus&) = default;
};

struct ReplicaStatuses {
  ReplicaStatus parameter_server;
  ReplicaStatus worker;
  ReplicaStatus evaluator;
  friend bool operator==(const ReplicaStatuses&, const ReplicaStatuses&) = default;
};

struct Progress {
  int64_t step = 0;
  double epoch = 0;
  double percent = 0;
  std::string done;  // Percent and step for people: "62%, step 230".
  std::optional<double> eta_seconds;
  std::string eta;  // The same for people: "1h20m".
  std::optional<double> loss;
  std::optional<double> metric;    // The one that the target is about; accuracy without one.
  std::optional<double> accuracy;  // Whatever the target is about.
  std::optional<double> samples_per_second;
  std::string
      slowest;  // Worker and how many times the median worker's time: "digits-worker-3 1.8x".
  std::optional<Time> last_update_time;
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct SyncStatus {
  Scheme scheme = Scheme::kBsp;
  int64_t waiting_for = 0;     // k: workers whose pushes the next commit takes.
  int64_t backup_workers = 0;  // n - k.
  std::string summary;         // Scheme, parts and k for people: "DBW+EagerPull k=3".
  friend bool operator==(const SyncStatus&, const SyncStatus&) = default;
};

struct WorkerStatus {
  std::string name;
  // Absent in what an operator wrote that knew neither.
  std::optional<std::string> group;
  std::optional<int64_t> index;  // In the group.
  std::string pod;
  std::string node;
  std::string state;
  std::string device;   // "CPU", "CUDA"; empty from one that did not say.
  int64_t threads = 0;  // That it computes with; 0 from one that did not say.
  int64_t batch_size = 0;
  double compute_seconds_p50 = 0;
  double slowdown_percent = 0;
  friend bool operator==(const WorkerStatus&, const WorkerStatus&) = default;
};

// Of a group of workers, in a job that lists groups.
struct GroupStatus {
  std::string name;
  std::string device;    // "CPU", "CUDA", "CUDA or CPU": what its workers are to compute on.
  int64_t replicas = 0;  // Wanted.
  int64_t active = 0;
  int64_t ready = 0;
  friend bool operator==(const GroupStatus&, const GroupStatus&) = default;
};

// A machine that a process was slow or stuck on; its next starts are on others.
struct AvoidedNode {
  std::string name;  // Of the process.
  std::string node;
  bool has_no_other = false;  // No other machine had room: it may come back.
  friend bool operator==(const AvoidedNode&, const AvoidedNode&) = default;
};

struct CheckpointStatus {
  int64_t version = 0;
  std::optional<Time> completion_time;
  friend bool operator==(const CheckpointStatus&, const CheckpointStatus&) = default;
};

// Returns of training to an earlier version, after a loss or numbers that are not finite.
struct RecoveryStatus {
  int64_t roll_backs = 0;         // All told...
  int64_t lost_steps = 0;         // ...at the cost of steps that were done and are void, and...
  double lost_seconds = 0;        // ...of training, as far as is known. The rest: the last one.
  int64_t from_version = 0;       // The newest that is known of.
  int64_t to_version = 0;         // 0: begun anew.
  std::string message;            // Why and to where.
  std::optional<Time> time;       // When it was heard of.
  int64_t coordinator_start = 0;  // By the coordinator of that start, which...
  int64_t coordinator_roll_backs = 0;  // ...had so many by then,
  int64_t coordinator_lost_steps = 0;  // at this cost.
  double coordinator_lost_seconds = 0;
  friend bool operator==(const RecoveryStatus&, const RecoveryStatus&) = default;
};

// Training has reached its stop. Until the job is over; where its model is then, ModelStatus says.
struct FinishingStatus {
  int64_t coordinator_start = 0;         // That of the coordinator that said so.
  std::optional<int64_t> model_version;  // Of the model, once it is written.
  friend bool operator==(const FinishingStatus&, const FinishingStatus&) = default;
};

// Of a job that has written one.
struct ModelStatus {
  ModelState state = ModelState::kAvailable;
  std::string where;          // kAvailable: the pod; kOnVolume: claim and path. Empty otherwise.
  std::optional<Time> until;  // kAvailable only: then the pod goes, and the model with it.
  int64_t version = 0;        // Its step; 0: not known.
  int64_t size_bytes = 0;     // 0: not known.
  std::string sha256;         // As `sha256sum` prints it; empty: not known.
  std::string message;        // How to get at it, or why one cannot.
  friend bool operator==(const ModelStatus&, const ModelStatus&) = default;
};

// What the planner knows of its plans before: what it decides by, and what events have told. What
// people read (conditions' reasons and messages, `state`, other texts) is written and never read.
// Reasons here are words of PlanReason.
struct Remembered {
  bool is_recovering = false;      // A parameter server is on its way back, and training with it.
  bool was_resumed = false;        // Goes on after a suspension.
  bool is_evaluator_gone = false;  // It is not started again; JobStatus says why.
  bool has_coordinator_ended = false;  // It ended the job, and all processes end by themselves.
  std::string degraded;                // The reason that Degraded holds for; empty: it does not.
  std::string resources;               // That of ResourcesReady.
  std::string no_checkpoints;          // A word of NoCheckpoints; empty where there are some.
  int64_t note_of_start = 0;           // Of the coordinator whose checkpointNote was told.
  friend bool operator==(const Remembered&, const Remembered&) = default;
};

struct JobStatus {
  std::vector<Condition> conditions;  // One of each type at most.
  int64_t observed_generation = 0;
  std::optional<Time> start_time;  // Of the first plan that was not suspended; anew at each resume.
  std::optional<Time> completion_time;  // Set once, with Succeeded or Failed.
  std::string state;                    // One word for the printer column.
  int64_t replicas = 0;
  std::string ready_workers;  // "3/4": workers that run, of those wanted.
  std::string selector;
  ReplicaStatuses replica_statuses;
  std::optional<Progress> progress;
  std::optional<SyncStatus> sync;
  std::vector<WorkerStatus> workers;
  std::vector<GroupStatus> worker_groups;  // Empty: the job lists none.
  std::vector<AvoidedNode> avoided_nodes;  // The newest 20 at most.
  std::optional<CheckpointStatus> checkpoint;
  std::string checkpoint_note;               // What was made of those that were there before.
  std::optional<RecoveryStatus> recovery;    // Nothing before the first roll back.
  std::optional<FinishingStatus> finishing;  // Nothing while there is training to do.
  std::optional<ModelStatus> model;  // Nothing before it is written; set with the job's end.
  int64_t poisoned_samples = 0;      // Left out because they made workers ill, or ended them.
  std::string standstill;      // Which parameter server or script all waits for; empty while none.
  std::string evaluator_gone;  // Why the evaluator is not started again, for people.
  int64_t restarts = 0;        // Of processes, all told.
  int64_t failures = 0;        // Of those, the ones that count against backoffLimit.
  int64_t gave_way = 0;        // Times that the job made room for others, in a row.
  std::optional<Time> gives_way_until;   // Then it tries again.
  int64_t coordinator_starts = 0;        // The `start` of the newest coordinator's generation.
  std::string installation;              // Of Paceline: the one that has the job.
  std::optional<Remembered> remembered;  // Nothing before the first plan.
  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

}  // namespace paceline::job
