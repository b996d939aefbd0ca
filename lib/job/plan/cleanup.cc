#include <chrono>

#include "lib/job/plan/judgements.h"

namespace paceline::job {

void JudgeCleanup(Draft& draft) {
  const RunPolicy& policy = draft.job.spec.run_policy;
  for (const SeenProcess& process : draft.seen.processes) {
    if (process.is_stopping || policy.clean_pod_policy == CleanPodPolicy::kNone) continue;
    const bool has_exited = process.state == ProcessState::kExited;
    if (has_exited && policy.clean_pod_policy != CleanPodPolicy::kAll) continue;
    draft.End(process, PlanReason::kJobFinished);
  }
  if (!policy.ttl_seconds_after_finished || !draft.plan.status.completion_time) return;
  const Time expiry =
      *draft.plan.status.completion_time + std::chrono::seconds(*policy.ttl_seconds_after_finished);
  draft.plan.is_expired = draft.now >= expiry;
  if (!draft.plan.is_expired) draft.LookAgain(expiry);
}

}  // namespace paceline::job
