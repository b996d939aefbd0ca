#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {

// There only where the job asks for it, so that whether it was told is whether it is there.
void JudgeGang(Draft& draft) {
  const ConditionType type = ConditionType::kGangScheduled;
  if (!AsksForGang(draft.job.spec.run_policy.scheduling_policy) ||
      draft.options.gangs == GangPlacement::kOneMachine) {
    std::erase_if(draft.plan.status.conditions,
                  [&](const Condition& condition) { return condition.type == type; });
    return;
  }
  if (draft.IsGang()) {
    return draft.SetCondition(type, ConditionStatus::kTrue, PlanReason::kPlacedTogether,
                              "pods are placed together, by a PodGroup");
  }
  const std::string message =
      "runPolicy.schedulingPolicy asks for pods that are placed together, and the operator knows "
      "of no gang scheduler (--gang-scheduler): they are placed one by one, and a job that cannot "
      "start with those that found a machine makes room for others";
  const Condition* const before = FindCondition(draft.seen.status, type);
  if (before == nullptr || before->status != ConditionStatus::kFalse)
    draft.Report(EventType::kWarning, PlanReason::kNoGangScheduler, message);
  draft.SetCondition(type, ConditionStatus::kFalse, PlanReason::kNoGangScheduler, message);
}

}  // namespace paceline::job
