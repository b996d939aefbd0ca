#include <chrono>

#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

// Until when what runs may go on; it is on its way out if the coordinator has ended the job.
// Stopped then, a pod would be deleted with its log and its last word, which cleanPodPolicy Running
// keeps.
Time EndsByItselfUntil(const Draft& draft) {
  const JobStatus& status = draft.plan.status;
  const bool is_told =
      Holds(status, ConditionType::kSucceeded) || draft.remembered().has_coordinator_ended;
  if (!is_told || !status.completion_time) return draft.now;
  return *status.completion_time + draft.options.ending_grace;
}

}  // namespace

void JudgeCleanup(Draft& draft) {
  const RunPolicy& policy = draft.job.spec.run_policy;
  const Time ends_by_itself_until = EndsByItselfUntil(draft);
  for (const SeenProcess& process : draft.seen.processes) {
    if (process.is_stopping || policy.clean_pod_policy == CleanPodPolicy::kNone) continue;
    if (ServesModel(draft, process)) continue;
    const bool has_exited = process.state == ProcessState::kExited && !process.is_outlived;
    if (has_exited && policy.clean_pod_policy != CleanPodPolicy::kAll) continue;
    const bool runs = process.state == ProcessState::kRunning || process.is_outlived;
    if (runs && draft.now < ends_by_itself_until) {
      draft.RequeueAt(ends_by_itself_until);
      continue;
    }
    draft.End(process, PlanReason::kJobFinished);
  }
  if (!policy.ttl_seconds_after_finished || !draft.plan.status.completion_time) return;
  const Time expiry =
      *draft.plan.status.completion_time + std::chrono::seconds(*policy.ttl_seconds_after_finished);
  draft.plan.is_expired = draft.now >= expiry;
  if (!draft.plan.is_expired) draft.RequeueAt(expiry);
}

}  // namespace paceline::job
