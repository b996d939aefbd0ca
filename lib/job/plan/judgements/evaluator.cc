#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {

// An evaluator that cannot work, or that failed more often than backoffLimit allows, is not started
// again. Training goes on without it; what a target can come to then is for the coordinator to
// judge.
void JudgeEvaluator(Draft& draft) {
  if (draft.remembered().is_evaluator_gone) return;
  std::string& gone = draft.plan.status.evaluator_gone;
  for (const SeenProcess& process : draft.seen.processes) {
    if (process.role != Role::kEvaluator || process.state != ProcessState::kExited ||
        process.is_stopping)
      continue;
    const int64_t limit = draft.job.spec.run_policy.backoff_limit;
    const int64_t failures = draft.FailuresOf(process);
    if (!IsHopeless(process) && failures <= limit) continue;
    draft.remembered().is_evaluator_gone = true;
    if (IsHopeless(process)) {
      gone = fmt::format("{}; starting it again is of no use", DescribeExit(process));
    } else {
      gone = fmt::format("{}; failure {}, backoffLimit allows {}", DescribeExit(process), failures,
                         limit);
    }
  }
}

}  // namespace paceline::job
