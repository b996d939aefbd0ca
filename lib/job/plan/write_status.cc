#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/plan/judgements.h"

namespace paceline::job {
namespace {

constexpr size_t kNamesMax = 5;     // In a message; more are counted.
constexpr size_t kWorkersMax = 20;  // In status.workers.

bool Runs(const SeenProcess* process) {
  return process != nullptr && process->state == ProcessState::kRunning && !process->is_stopping;
}

std::string Names(std::vector<std::string> names) {
  const size_t more = names.size() > kNamesMax ? names.size() - kNamesMax : 0;
  if (more > 0) names.resize(kNamesMax);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<std::string> NotRunning(const Draft& draft, bool workers_only) {
  std::vector<std::string> names;
  for (const WantedProcess& wanted : draft.wanted) {
    if (workers_only && wanted.role != Role::kWorker) continue;
    if (!Runs(draft.Find(wanted.name))) names.push_back(wanted.name);
  }
  return names;
}

void CountReplicas(Draft& draft) {
  ReplicaStatuses counts;
  int64_t restarts = 0;
  for (const SeenProcess& process : draft.seen.processes) {
    ReplicaStatus& count = process.role == Role::kParameterServer ? counts.parameter_server
                           : process.role == Role::kWorker        ? counts.worker
                                                                  : counts.evaluator;
    restarts += process.attempt;
    if (process.state == ProcessState::kExited) {
      ++(IsFailure(process) || process.is_disruption ? count.failed : count.succeeded);
    } else {
      ++count.active;
      if (Runs(&process)) ++count.ready;
    }
  }
  JobStatus& status = draft.plan.status;
  status.replica_statuses = counts;
  status.replicas = counts.worker.active;
  // What is gone took its count with it.
  status.restarts = std::max(status.restarts, restarts);
}

void CopyReport(Draft& draft) {
  if (draft.report == nullptr) return;
  JobStatus& status = draft.plan.status;
  if (draft.report->progress) status.progress = draft.report->progress;
  if (draft.report->sync) status.sync = draft.report->sync;
  if (draft.report->checkpoint) status.checkpoint = draft.report->checkpoint;
  status.workers = draft.report->workers;
  if (status.workers.size() > kWorkersMax) {
    std::stable_sort(status.workers.begin(), status.workers.end(),
                     [](const WorkerStatus& a, const WorkerStatus& b) {
                       return a.slowdown_percent > b.slowdown_percent;
                     });
    status.workers.resize(kWorkersMax);
  }
}

// Whether training goes on. A coordinator that cannot be asked for a moment has not stopped.
bool IsTraining(const Draft& draft) {
  if (draft.verdict != Verdict::kGoesOn || !Runs(draft.Find(draft.wanted.front().name)))
    return false;
  if (draft.report != nullptr) return draft.report->phase == TrainingPhase::kTraining;
  return Holds(draft.seen.status, ConditionType::kRunning);
}

struct Finding {
  ConditionType type;
  bool holds = false;
  PlanReason reason;        // If it holds.
  PlanReason other_reason;  // If it does not.
  std::string message;
};

std::vector<Finding> Judge(const Draft& draft) {
  const std::vector<std::string> missing = NotRunning(draft, false),
                                 absent = NotRunning(draft, true);
  std::vector<std::string> restarting, stragglers;
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr || Runs(process) || process->is_stopping) continue;
    const bool waits =
        process->state == ProcessState::kExited && (IsFailure(*process) || process->is_disruption);
    if (waits || (process->state == ProcessState::kPending && process->attempt > 0))
      restarting.push_back(wanted.name);
  }
  if (draft.report != nullptr) {
    for (const SeenStraggler& straggler : draft.report->stragglers) {
      stragglers.push_back(fmt::format(
          "{} at {:.0f} %", ProcessName(draft.job.metadata.name, Role::kWorker, straggler.worker),
          straggler.slowdown_percent));
    }
  }
  const bool goes_on = draft.verdict == Verdict::kGoesOn, is_training = IsTraining(draft);
  const PlanReason rest = draft.verdict == Verdict::kSuspended ? PlanReason::kSuspended
                          : goes_on                            ? PlanReason::kStarting
                                                               : PlanReason::kJobFinished;
  const PlanReason calm = goes_on ? PlanReason::kNotYet : rest;
  return {
      {ConditionType::kCreated, true, PlanReason::kJobSeen, PlanReason::kJobSeen, ""},
      {ConditionType::kRunning, is_training, PlanReason::kTraining, rest, ""},
      {ConditionType::kRestarting, goes_on && !restarting.empty(), PlanReason::kProcessFailed, calm,
       Names(restarting)},
      {ConditionType::kSuspended, draft.verdict == Verdict::kSuspended, PlanReason::kSuspended,
       calm, ""},
      {ConditionType::kResourcesReady, goes_on && missing.empty(), PlanReason::kAllRunning,
       goes_on ? PlanReason::kProcessesMissing : rest,
       missing.empty() ? "" : "not running: " + Names(missing)},
      {ConditionType::kDegraded, is_training && !absent.empty(), PlanReason::kWorkersMissing, calm,
       absent.empty() ? "" : "not running: " + Names(absent)},
      {ConditionType::kStraggling, is_training && !stragglers.empty(), PlanReason::kStraggler,
       PlanReason::kNoStraggler, Names(stragglers)},
  };
}

void WriteConditions(Draft& draft) {
  for (Finding& finding : Judge(draft)) {
    const bool says_what = finding.holds || finding.type == ConditionType::kResourcesReady;
    const bool is_new = finding.holds && !Holds(draft.seen.status, finding.type);
    if (is_new &&
        (finding.type == ConditionType::kRunning || finding.type == ConditionType::kDegraded)) {
      draft.Report(
          finding.type == ConditionType::kRunning ? EventType::kNormal : EventType::kWarning,
          finding.reason, finding.message.empty() ? "training goes on" : finding.message);
    }
    draft.SetCondition(
        finding.type, finding.holds ? ConditionStatus::kTrue : ConditionStatus::kFalse,
        finding.holds ? finding.reason : finding.other_reason, says_what ? finding.message : "");
  }
  // A verdict of this plan is written already, an earlier one stays as it was.
  for (ConditionType type : {ConditionType::kSucceeded, ConditionType::kFailed}) {
    if (Holds(draft.plan.status, type)) continue;
    draft.SetCondition(type, ConditionStatus::kFalse, PlanReason::kNotYet, "");
  }
}

std::string StateWord(const JobStatus& status) {
  for (ConditionType type :
       {ConditionType::kFailed, ConditionType::kSucceeded, ConditionType::kSuspended,
        ConditionType::kDegraded, ConditionType::kRunning, ConditionType::kRestarting}) {
    if (Holds(status, type)) return std::string(ToWord(type));
  }
  return std::string(ToWord(PlanReason::kStarting));
}

}  // namespace

void WriteStatus(Draft& draft) {
  CountReplicas(draft);
  CopyReport(draft);
  WriteConditions(draft);
  JobStatus& status = draft.plan.status;
  status.observed_generation = draft.job.metadata.generation;
  status.selector =
      fmt::format("paceline.dev/job={},paceline.dev/role=worker", draft.job.metadata.name);
  status.state = StateWord(status);
}

}  // namespace paceline::job
