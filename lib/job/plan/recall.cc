#include "lib/job/plan/recall.h"

#include "lib/job/plan/plan.h"
#include "lib/job/plan/reason.h"

namespace paceline::job {
namespace {

// Of a condition that holds, or does not; empty otherwise.
std::string ReasonWhile(const JobStatus& status, ConditionType type, ConditionStatus holds) {
  const Condition* condition = FindCondition(status, type);
  return condition != nullptr && condition->status == holds ? condition->reason : "";
}

Remembered FromReasons(const JobStatus& status) {
  const std::string resources =
      ReasonWhile(status, ConditionType::kResourcesReady, ConditionStatus::kFalse);
  return {
      .is_recovering = ReasonWhile(status, ConditionType::kRestarting, ConditionStatus::kTrue) ==
                       ToWord(PlanReason::kRecovering),
      .was_resumed = ReasonWhile(status, ConditionType::kSuspended, ConditionStatus::kFalse) ==
                     ToWord(PlanReason::kResumed),
      .is_evaluator_gone = !status.evaluator_gone.empty(),
      .has_coordinator_ended =
          ReasonWhile(status, ConditionType::kFailed, ConditionStatus::kTrue) ==
          ToWord(PlanReason::kTrainingFailed),
      .degraded = ReasonWhile(status, ConditionType::kDegraded, ConditionStatus::kTrue),
      .resources = resources,
      .note_of_start = status.checkpoint_note.empty() ? 0 : status.coordinator_starts,
  };
}

}  // namespace

Remembered Recall(const JobStatus& status) {
  return status.remembered ? *status.remembered : FromReasons(status);
}

}  // namespace paceline::job
