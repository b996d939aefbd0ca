#include "lib/job/plan/judgements.h"

namespace paceline::job {

void JudgeSuspend(Draft& draft) {
  const bool was_suspended = Holds(draft.seen.status, ConditionType::kSuspended);
  if (!draft.job.spec.run_policy.suspend) {
    if (was_suspended) draft.Report(EventType::kNormal, PlanReason::kResumed, "the job goes on");
    if (!draft.plan.status.start_time) draft.plan.status.start_time = draft.now;
    return;
  }
  draft.verdict = Verdict::kSuspended;
  draft.plan.status.start_time.reset();
  if (!was_suspended) {
    draft.Report(EventType::kNormal, PlanReason::kSuspended,
                 draft.job.spec.checkpoint
                     ? "all processes are stopped; the job goes on from the newest checkpoint"
                     : "all processes are stopped; without spec.checkpoint the progress is lost");
  }
  for (const SeenProcess& process : draft.seen.processes) {
    if (!process.is_stopping) draft.End(process, PlanReason::kSuspended);
  }
}

}  // namespace paceline::job
