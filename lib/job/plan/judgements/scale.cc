#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

// How many processes of `role` went away without a trace since the last plan counted them.
int64_t CountVanished(const Draft& draft, Role role) {
  if (Holds(draft.seen.status, ConditionType::kSuspended)) return 0;  // That was our wish.
  const ReplicaStatuses& all = draft.seen.status.replica_statuses;
  const ReplicaStatus& counted = role == Role::kParameterServer ? all.parameter_server
                                 : role == Role::kWorker        ? all.worker
                                                                : all.evaluator;
  const auto there =
      std::count_if(draft.seen.processes.begin(), draft.seen.processes.end(),
                    [&](const SeenProcess& process) { return process.role == role; });
  return std::max<int64_t>(0, counted.active + counted.succeeded + counted.failed - there);
}

// Starts that nobody who is there accounts for.
int64_t CountForgottenRestarts(const Draft& draft) {
  int64_t known = 0;
  for (const SeenProcess& process : draft.seen.processes) known += process.attempt;
  return std::max<int64_t>(0, draft.seen.status.restarts - known);
}

void ReportGone(Draft& draft, const WantedProcess& wanted) {
  if (wanted.role == Role::kParameterServer) {
    draft.Report(
        EventType::kWarning, PlanReason::kRecovering,
        fmt::format("{} is gone and started again; {}", wanted.name, DescribeRecovery(draft)));
  } else {
    draft.Report(EventType::kWarning, PlanReason::kProcessGone,
                 fmt::format("{} is gone; it is started again", wanted.name));
  }
}

// Of workers that come or go beside others that are there: another number of them is wanted.
void ReportScaling(Draft& draft, PlanReason reason, std::vector<std::string> names) {
  const JobStatus& before = draft.seen.status;
  if (names.empty() || before.replica_statuses.worker.active == 0 ||
      Holds(before, ConditionType::kSuspended))
    return;
  draft.Report(EventType::kNormal, reason,
               fmt::format("{} workers are wanted now; {} {}", ReplicasOf(draft.job.spec.workers),
                           reason == PlanReason::kScaledUp ? "starting" : "stopping",
                           Joined(std::move(names))));
}

}  // namespace

void JudgeScale(Draft& draft) {
  // The count of restarts lives in the processes; what vanished hands it on to what replaces it.
  int64_t forgotten = CountForgottenRestarts(draft);
  std::map<Role, int64_t> vanished;
  for (Role role : {Role::kParameterServer, Role::kWorker, Role::kEvaluator})
    vanished[role] = CountVanished(draft, role);
  std::vector<std::string> fresh, surplus;
  for (const WantedProcess& wanted : draft.wanted) {
    if (draft.Find(wanted.name) != nullptr || !draft.StillNeeds(wanted.role)) continue;
    if (draft.HasScriptEnded(wanted.role, wanted.index, wanted.group)) continue;
    if (vanished[wanted.role]-- <= 0) {
      draft.Begin(wanted, 0);
      if (wanted.role == Role::kWorker && !draft.WasRefused(wanted.name))
        fresh.push_back(wanted.name);
      continue;
    }
    draft.Begin(wanted, std::exchange(forgotten, 0) + 1);
    if (!draft.WasRefused(wanted.name)) ReportGone(draft, wanted);
  }
  for (const SeenProcess& process : draft.seen.processes) {
    if (draft.IsWanted(process.name) || process.is_stopping) continue;
    draft.End(process, PlanReason::kScaledDown);
    if (process.role == Role::kWorker) surplus.push_back(process.name);
  }
  ReportScaling(draft, PlanReason::kScaledUp, std::move(fresh));
  ReportScaling(draft, PlanReason::kScaledDown, std::move(surplus));
}

}  // namespace paceline::job
