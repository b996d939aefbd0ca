// Defines Observation: what a shell of the planner sees of a job's processes and has recorded about
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/job/process_name.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/job/state/status.h"

namespace paceline::job {

enum class ProcessState { kPending, kRunning, kExited };
PACELINE_WORDS(ProcessState, "Pending", "Running", "Exited")

// A process exits with this when starting it again is of no use: its arguments, model or data are
// wrong.
inline constexpr int kExitCannotWork = 2;
// With this when it is this machine that cannot do the work: elsewhere, or later, another start
// may.
inline constexpr int kExitCannotWorkHere = 3;

// A condition that a pod had when it ended.
struct SeenPodCondition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  bool operator==(const SeenPodCondition&) const = default;
};

// One process or pod. A process that was stopped by a plan is reported with `is_stopping` until it
// is gone, and then no more; one that ended by itself is reported as kExited until it is started
// again or the job is over.
struct SeenProcess {
  std::string name;  // As in its Start.
  Role role = Role::kWorker;
  int64_t index = 0;
  ProcessState state = ProcessState::kPending;
  bool is_stopping = false;
  bool is_ready = true;  // kRunning only: says that it can be used, where it is asked.

  Time started_at;    // Of this start; kPending: when it was made.
  Time ended_at;      // kExited only.
  int exit_code = 0;  // kExited only. The coordinator exits with 0 only when training succeeded.
  int signal = 0;     // kExited only: what killed it, or 0.
  bool is_disruption = false;  // kExited only: evicted, preempted, its node lost.

  bool is_out_of_memory = false;  // kExited only: killed because it used too much of it.
  std::string memory_limit;       // kExited only: that it has, as the manifest says; or empty.

  std::vector<SeenPodCondition> conditions;  // kExited only, of its pod; none on one machine.
  // kExited only: the rule of failurePolicy that says what its end is; not in what is observed.
  std::optional<size_t> rule;

  // kExited only: something else of its pod still runs, as a mesh's sidecar, and the pod holds what
  // it has asked for.
  bool is_outlived = false;
  std::string last_word;  // kExited only: why, in the process's own words; may be empty.

  std::string node;       // The machine it is on; empty where there is one only, or none was found.
  bool is_gated = false;  // kPending only: somebody who admits jobs holds it back.
  bool is_unschedulable = false;  // kPending only: no machine has room for it.
  std::string waiting_reason;     // kPending only: "ErrImagePull"; empty while nothing is amiss.
  std::string waiting_message;    // Why it waits, or is not schedulable; may be empty.
  std::optional<Time> node_lost_since;  // Its machine has not answered since then.
  std::optional<Time> gone_by;          // is_stopping only: when it should have been gone.

  int64_t attempt = 0;            // As in its Start.
  int64_t failures = 0;           // As in its Start.
  int64_t unfit = 0;              // As in its Start.
  int64_t disruptions = 0;        // As in its Start.
  uint64_t generation_start = 0;  // As in its Start; 0 where nobody wrote it down.
  std::string group = {};         // As in its Start.

  bool operator==(const SeenProcess&) const = default;
};

// kFinishing: training has reached its stop; the model is written, then judged.
enum class TrainingPhase { kStartup, kTraining, kFinishing, kSucceeded, kFailed };
PACELINE_WORDS(TrainingPhase, "Startup", "Training", "Finishing", "Succeeded", "Failed")

struct SeenStraggler {
  int64_t worker = 0;  // Its index.
  double slowdown_percent = 0;
  std::string group = {};  // Empty: the job has none.
};

// A worker's process that was expelled because its step hangs, and whose seat nobody else has yet.
struct SeenHung {
  int64_t worker = 0;      // Its index.
  int64_t attempt = 0;     // Which start of it.
  double seconds = 0;      // Since then.
  std::string group = {};  // Empty: the job has none.
};

// A worker whose script has ended by itself, and whose seat nobody else has.
struct SeenEnded {
  int64_t worker = 0;      // Its index.
  std::string group = {};  // Empty: the job has none.
};

// The final model's file, as its coordinator has written it.
struct SeenModel {
  int64_t size_bytes = 0;
  std::string sha256;
  bool is_fetched = false;  // Somebody has it, and said so with its digest.
};

// A parameter server that the coordinator has no session with.
struct SeenLostShard {
  int64_t rank = 0;
  std::string reason;
  double seconds = 0;      // Since when, before it was asked.
  bool was_there = false;  // And was lost; otherwise it has not come yet.
};

// What the coordinator said when last asked.
struct CoordinatorReport {
  uint64_t generation_start = 0;  // A report of another than the recorded one is not listened to.
  TrainingPhase phase = TrainingPhase::kStartup;
  std::string message;       // kFailed: why, for people.
  bool is_unjudged = false;  // kFailed: training ended since nobody could judge its target.
  std::optional<int64_t> model_version;    // Of the model that is written.
  bool knows_evaluator_gone = false;       // It was told of status.evaluatorGone.
  std::string target_problem;              // Why nobody can judge the target; empty: somebody may.
  std::vector<std::string> idle_patterns;  // Of parameterGroups, that fit no parameter.
  std::optional<Progress> progress;
  std::optional<SyncStatus> sync;
  std::vector<WorkerStatus> workers;
  std::vector<SeenStraggler> stragglers;  // By stragglerPolicy's percent and seconds.
  std::vector<SeenHung> hung;
  std::vector<SeenEnded> ended;
  bool have_scripts_ended = false;  // All did: that is why training is over.
  int64_t poisoned = 0;             // Samples left out, in this coordinator's life...
  std::vector<std::string>
      poisoned_of;  // ...the first of them, "sample 17 (position 5 of epoch 0)".
  std::vector<SeenLostShard> lost_shards;
  std::string standstill;  // Which shard or script all waits for, and why, where that takes long.
  bool is_shard_stalled = false;  // It is a shard.
  std::optional<CheckpointStatus> checkpoint;
  std::string checkpoint_note;     // What it made of those that were there when it started.
  std::string checkpoint_trouble;  // Why the latest one could not be written; empty: it could.
  std::string model_trouble;   // Why the final model is not written yet, though training is over.
  int64_t roll_backs = 0;      // Of this coordinator's life; the rest is about the last one.
  std::string last_roll_back;  // Why and to where.
  int64_t lost_steps = 0;      // By all of them.
  double lost_seconds = 0;
  int64_t rolled_back_from = 0;
  int64_t rolled_back_to = 0;      // 0: begun anew.
  int64_t restored_from = 0;       // Version of the checkpoint that it began with; 0: none.
  std::optional<SeenModel> model;  // Once it is written.
};

// A coordinator that runs, and does not answer.
struct SeenSilence {
  Time since;
  std::string why;  // Who was asked where, and what came of it.
};

struct Observation {
  std::vector<SeenProcess> processes;  // In any order.
  // Why the job's processes, or what they need, could not be made: "pods is forbidden: exceeded
  // quota". Empty while nothing is known to be wrong.
  std::string resources_trouble;
  // What an earlier job of the same name left, which is in the way until it is gone: "pods
  // digits-ps-0, digits-worker-1". Nothing starts before.
  std::string former_job;
  // Claims that the job's processes mount and that are being deleted: nothing starts before they
  // are gone and made anew. "digits-checkpoint-0, digits-checkpoint-1".
  std::string terminating_claims;
  // Likewise one that decides where checkpoints are (DecidingClaim), that is not there or is being
  // deleted.
  std::string missing_claim;
  // What that one says, once it is there.
  std::optional<ClaimAccess> output_claim;
  // Whether another job has found too few machines, and waits for room. True where it is not known.
  bool others_wait = true;
  // When it was last said that room is made for processes of this one that have none: an autoscaler
  // starts a machine, or a scheduler takes others away. Nothing where nobody said so.
  std::optional<Time> room_promised_at;
  // Names that the last plan started in vain: the cluster refused to make them. To start them again
  // is nothing new, neither to tell nor to count. Forgotten by a fresh shell, which costs one more.
  std::set<std::string> refused;
  JobStatus status;  // The last plan's, as recorded.
  std::optional<CoordinatorReport> coordinator;
  std::optional<SeenSilence> silence;  // Of the coordinator, if it is silent.
};

}  // namespace paceline::job
