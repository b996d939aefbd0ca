#include <algorithm>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements.h"

namespace paceline::job {
namespace {

constexpr int64_t kDoublingsMax = 6;

// A scheduler that admits pods together keeps their place in its queue: a new pod would lose it.
bool IsForTheQueue(const Draft& draft, const SeenProcess& process) {
  const SchedulingPolicy& policy = draft.job.spec.run_policy.scheduling_policy;
  return process.is_gated || (process.is_unschedulable && (policy.queue || policy.min_available));
}

}  // namespace

// A process that does not come to run is reported after scheduleTimeoutSeconds and made anew after
// twice that, each time twice as late: then it is made by today's template, and elsewhere.
void JudgePending(Draft& draft) {
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr || process->state != ProcessState::kPending || process->is_stopping)
      continue;
    const Time late = LateAt(draft.job, *process);
    if (draft.now < late) {
      draft.LookAgain(late);
      continue;
    }
    if (IsForTheQueue(draft, *process)) continue;
    const int64_t doublings = std::min(process->attempt + 1, kDoublingsMax);
    const Time due = process->started_at + (late - process->started_at) * (int64_t{1} << doublings);
    if (draft.now < due) {
      draft.LookAgain(due);
      continue;
    }
    draft.AvoidNodeOf(*process);
    draft.End(*process, PlanReason::kPendingTooLong);
    draft.Report(EventType::kWarning, PlanReason::kPendingTooLong,
                 fmt::format("{}; it is made anew", DescribeAbsence(process->name, process)));
  }
}

}  // namespace paceline::job
