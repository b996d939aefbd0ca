#include "lib/job/plan/plan.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/plan/judgements/failure_policy.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/plan/recall.h"

namespace paceline::job {

Plan PlanJob(const TrainingJob& job, const Observation& observed, Time now,
             const PlanOptions& options) {
  std::optional<Observation> ruled;
  if (job.spec.run_policy.failure_policy) ruled = ApplyFailurePolicy(job, observed);
  const Observation& seen = ruled ? *ruled : observed;
  Draft draft(job, seen, now, options);
  if (Holds(seen.status, ConditionType::kSucceeded)) draft.verdict = Verdict::kSucceeded;
  if (Holds(seen.status, ConditionType::kFailed)) draft.verdict = Verdict::kFailed;
  // Each is asked only while those before it let the job go on; cleanup, only when they do not.
  for (const auto judge : {JudgeSuspend, JudgeDeadline, JudgeFailurePolicy, JudgeEvaluator,
                           JudgeFailure, JudgeSuccess, JudgeGivingWay, JudgeScale, JudgeRestart,
                           JudgePending, JudgeLostShards, JudgeHung, JudgeStragglers}) {
    if (draft.verdict == Verdict::kGoesOn) judge(draft);
  }
  if (draft.verdict == Verdict::kSucceeded || draft.verdict == Verdict::kFailed) {
    JudgeModel(draft);
    JudgeCleanup(draft);
  }
  JudgeLostNodes(draft);  // Whatever the verdict: what hangs on a dead machine must go.
  WriteStatus(draft);
  return std::move(draft.plan);
}

bool IsEvaluatorGone(const JobStatus& status) { return Recall(status).is_evaluator_gone; }

const Condition* FindCondition(const JobStatus& status, ConditionType type) {
  const auto found =
      std::find_if(status.conditions.begin(), status.conditions.end(),
                   [&](const Condition& condition) { return condition.type == type; });
  return found == status.conditions.end() ? nullptr : &*found;
}

bool Holds(const JobStatus& status, ConditionType type) {
  const Condition* condition = FindCondition(status, type);
  return condition != nullptr && condition->status == ConditionStatus::kTrue;
}

bool IsOurs(const TrainingJob& job) {
  return job.spec.run_policy.managed_by == RunPolicy{}.managed_by;
}

bool IsFinished(const JobStatus& status) {
  return Holds(status, ConditionType::kSucceeded) || Holds(status, ConditionType::kFailed);
}

bool HasModelServed(const JobStatus& status) {
  return status.model && status.model->state == ModelState::kAvailable;
}

std::string ToString(const Action& action) {
  if (const Start* start = std::get_if<Start>(&action)) {
    std::string text = fmt::format("start {} generation={} attempt={} failures={}", start->name,
                                   start->generation_start, start->attempt, start->failures);
    if (start->unfit > 0) text += fmt::format(" unfit={}", start->unfit);
    if (start->disruptions > 0) text += fmt::format(" disruptions={}", start->disruptions);
    if (!start->avoid_node.empty()) {
      text += fmt::format(" {}={}", start->may_use_avoided_node ? "prefer-not" : "avoid",
                          start->avoid_node);
    }
    return text;
  }
  const Stop& stop = std::get<Stop>(action);
  return fmt::format("stop {} {}{}", stop.name, ToWord(stop.reason),
                     stop.grace <= Duration::zero() ? " now" : "");
}

}  // namespace paceline::job
