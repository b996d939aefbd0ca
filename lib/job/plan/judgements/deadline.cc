#include <chrono>

#include <fmt/format.h>

#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {

void JudgeDeadline(Draft& draft) {
  const auto& seconds = draft.job.spec.run_policy.active_deadline_seconds;
  if (!seconds || !draft.plan.status.start_time || draft.CoordinatorSucceeded()) return;
  const Time deadline = *draft.plan.status.start_time + std::chrono::seconds(*seconds);
  if (draft.now < deadline) return draft.RequeueAt(deadline);
  if (draft.IsModelWritten()) {
    return draft.Conclude(Verdict::kSucceeded, PlanReason::kTrainingSucceeded,
                          fmt::format("the model is trained and saved; activeDeadlineSeconds, {}, "
                                      "were over before it was judged for the last time",
                                      *seconds));
  }
  draft.Conclude(Verdict::kFailed, PlanReason::kDeadlineExceeded,
                 fmt::format("not done within activeDeadlineSeconds, {}", *seconds));
}

}  // namespace paceline::job
