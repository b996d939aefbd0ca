// Builds jobs and observations for the planner's tests.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/job/manifest/defaults.h"
#include "lib/job/plan/plan.h"

namespace paceline::job::testing {

constexpr Time At(double seconds) { return Time(Seconds(seconds)); }

// Two parameter servers, three workers, an evaluator.
inline TrainingJob SmallJob() {
  TrainingJob job;
  job.metadata.name = "digits";
  job.metadata.generation = 4;
  job.spec.data.eval = "test.safetensors";
  job.spec.parameter_server.shards = 2;
  job.spec.workers.replicas = 3;
  job.spec.workers.min_replicas = 2;
  ApplyDefaults(job);
  return job;
}

inline SeenProcess Running(Role role, int64_t index, double started_at = 0) {
  SeenProcess process;
  process.name = ProcessName("digits", role, index);
  process.role = role;
  process.index = index;
  process.state = ProcessState::kRunning;
  process.started_at = At(started_at);
  return process;
}

inline SeenProcess Pending(int64_t worker, double since) {
  SeenProcess process = Running(Role::kWorker, worker, since);
  process.state = ProcessState::kPending;
  return process;
}

inline SeenProcess Exited(Role role, int64_t index, double ended_at, int exit_code,
                          int signal = 0) {
  SeenProcess process = Running(role, index);
  process.state = ProcessState::kExited;
  process.ended_at = At(ended_at);
  process.exit_code = exit_code;
  process.signal = signal;
  return process;
}

// All that SmallJob wants runs, and the coordinator says that it trains.
inline Observation AllTraining() {
  Observation seen;
  for (int64_t i = 0; i < 2; ++i) seen.processes.push_back(Running(Role::kParameterServer, i));
  for (int64_t i = 0; i < 3; ++i) seen.processes.push_back(Running(Role::kWorker, i));
  seen.processes.push_back(Running(Role::kEvaluator, 0));
  seen.status.start_time = At(0);
  seen.status.coordinator_starts = 1;
  seen.coordinator.emplace();
  seen.coordinator->generation_start = 1;
  seen.coordinator->phase = TrainingPhase::kTraining;
  return seen;
}

// All trains, and a plan has said so.
inline Observation SettledTraining(const TrainingJob& job) {
  Observation seen = AllTraining();
  for (SeenProcess& process : seen.processes) process.node = fmt::format("node-{}", process.index);
  seen.status = PlanJob(job, seen, At(1)).status;
  return seen;
}

inline SeenProcess& Find(Observation& seen, const std::string& name) {
  for (SeenProcess& process : seen.processes) {
    if (process.name == name) return process;
  }
  return seen.processes.emplace_back();
}

inline void Put(Observation& seen, SeenProcess process) {
  SeenProcess& place = Find(seen, process.name);
  place = std::move(process);
}

inline void Remove(Observation& seen, const std::string& name) {
  std::erase_if(seen.processes, [&](const SeenProcess& process) { return process.name == name; });
}

// What the plan does: its actions, one line each.
inline std::vector<std::string> Actions(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Action& action : plan.actions) lines.push_back(ToString(action));
  return lines;
}

// What the plan says: its events, "Warning ProcessFailed: digits-worker-1 exited with code 1; ...".
inline std::vector<std::string> Events(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlanEvent& event : plan.events) {
    lines.push_back(
        fmt::format("{} {}: {}", ToWord(event.type), ToWord(event.reason), event.message));
  }
  return lines;
}

// "True Straggler digits-worker-2 on node-2 takes ...": a condition's status, reason, message.
inline std::string Reason(const Plan& plan, ConditionType type) {
  const Condition* condition = FindCondition(plan.status, type);
  return condition == nullptr ? "absent"
                              : fmt::format("{} {} {}", ToWord(condition->status),
                                            condition->reason, condition->message);
}

// The status in other words: whatever in it is for people to read says something else, or nothing.
inline JobStatus Reworded(JobStatus status, const std::string& words) {
  for (Condition& condition : status.conditions) condition.reason = condition.message = words;
  status.state = status.ready_workers = status.selector = words;
  status.standstill = status.evaluator_gone = status.checkpoint_note = words;
  if (status.progress)
    status.progress->eta = status.progress->done = status.progress->slowest = words;
  if (status.sync) status.sync->summary = words;
  if (status.recovery) status.recovery->message = words;
  if (status.model) status.model->message = words;
  for (WorkerStatus& worker : status.workers) worker.state = words;
  return status;
}

// "Running", or "Failed DeadlineExceeded: not done within ..." where the job is over.
inline std::string Outcome(const Plan& plan) {
  for (ConditionType type : {ConditionType::kFailed, ConditionType::kSucceeded}) {
    if (!Holds(plan.status, type)) continue;
    const Condition& condition = *FindCondition(plan.status, type);
    return fmt::format("{} {}: {}", plan.status.state, condition.reason, condition.message);
  }
  return plan.status.state;
}

}  // namespace paceline::job::testing
