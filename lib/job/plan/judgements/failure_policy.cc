#include "lib/job/plan/judgements/failure_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

constexpr int kSignalBase = 128;  // What a shell adds to the number of a signal.

bool Matches(const FailureRule& rule, const SeenProcess& process) {
  if (rule.on_exit_codes) {
    const int64_t code = process.signal != 0 ? kSignalBase + process.signal : process.exit_code;
    const std::vector<int64_t>& values = rule.on_exit_codes->values;
    const bool is_one = std::ranges::find(values, code) != values.end();
    return is_one == (rule.on_exit_codes->op == ExitCodeOperator::kIn);
  }
  return std::ranges::any_of(rule.on_pod_conditions, [&](const PodConditionPattern& pattern) {
    return std::ranges::any_of(process.conditions, [&](const SeenPodCondition& condition) {
      return condition.type == pattern.type && condition.status == pattern.status;
    });
  });
}

const FailureRule* RuleOf(const Draft& draft, const SeenProcess& process) {
  const std::optional<FailurePolicy>& policy = draft.job.spec.run_policy.failure_policy;
  return policy && process.rule ? &policy->rules.at(*process.rule) : nullptr;
}

}  // namespace

Observation ApplyFailurePolicy(const TrainingJob& job, Observation seen) {
  const std::vector<FailureRule>& rules = job.spec.run_policy.failure_policy->rules;
  for (SeenProcess& process : seen.processes) {
    if (!IsFailure(process) && !(process.state == ProcessState::kExited && process.is_disruption))
      continue;
    const auto rule =
        std::ranges::find_if(rules, [&](const FailureRule& one) { return Matches(one, process); });
    if (rule == rules.end()) continue;
    process.rule = static_cast<size_t>(rule - rules.begin());
    process.is_disruption = rule->action == FailureAction::kIgnore;
  }
  return seen;
}

// Whoever it was, but for those who have nothing left to do.
void JudgeFailurePolicy(Draft& draft) {
  if (draft.CoordinatorSucceeded() || draft.IsModelWritten()) return;
  for (const SeenProcess& process : draft.seen.processes) {
    const FailureRule* rule = RuleOf(draft, process);
    if (rule == nullptr || rule->action != FailureAction::kFailJob) continue;
    if (process.role == Role::kWorker && draft.IsFinishing()) continue;
    return draft.Conclude(Verdict::kFailed, PlanReason::kPodFailurePolicy, DescribeExit(process));
  }
}

}  // namespace paceline::job
