#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

// The coordinator writes a checkpoint as it goes, for which it needs the shards.
bool MustWait(const Draft& draft, const SeenProcess& process) {
  if (!draft.KeepsCheckpoints() || process.role != Role::kParameterServer || process.index == 0)
    return false;
  const SeenProcess* coordinator = draft.Find(draft.wanted.front().name);
  return coordinator != nullptr && coordinator->state != ProcessState::kExited &&
         !coordinator->node_lost_since;
}

}  // namespace

void JudgeSuspend(Draft& draft) {
  if (draft.CoordinatorSucceeded()) return;  // There is nothing left to suspend.
  const bool was_suspended = Holds(draft.seen.status, ConditionType::kSuspended);
  if (!draft.job.spec.run_policy.suspend) {
    if (was_suspended) draft.Report(EventType::kNormal, PlanReason::kResumed, "the job goes on");
    if (!draft.plan.status.start_time) draft.plan.status.start_time = draft.now;
    return;
  }
  draft.verdict = Verdict::kSuspended;
  draft.plan.status.start_time.reset();
  draft.plan.status.evaluator_gone.clear();  // It has another chance afterwards.
  draft.remembered().is_evaluator_gone = false;
  if (!was_suspended) {
    draft.Report(EventType::kNormal, PlanReason::kSuspended,
                 draft.KeepsCheckpoints()
                     ? "all processes are stopped; the job goes on from the newest checkpoint"
                     : "all processes are stopped; without checkpoints the progress is lost");
  }
  for (const SeenProcess& process : draft.seen.processes) {
    if (!process.is_stopping && !MustWait(draft, process))
      draft.End(process, PlanReason::kSuspended);
  }
}

}  // namespace paceline::job
