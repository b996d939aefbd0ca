#include <algorithm>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements.h"

namespace paceline::job {

// One at a time, the slowest first, and only while enough others run: a replacement costs the job a
// worker for as long as it takes to start.
void JudgeStragglers(Draft& draft) {
  if (draft.job.spec.workers.straggler_policy.action != StragglerAction::kReplace) return;
  if (draft.report == nullptr || draft.report->stragglers.empty()) return;
  int64_t running = 0;
  for (const WantedProcess& wanted : draft.wanted) {
    if (wanted.role != Role::kWorker) continue;
    if (!IsUp(draft.Find(wanted.name))) return;
    ++running;
  }
  if (running <= draft.job.spec.workers.min_replicas) return;
  const auto slowest =
      std::max_element(draft.report->stragglers.begin(), draft.report->stragglers.end(),
                       [](const SeenStraggler& a, const SeenStraggler& b) {
                         return a.slowdown_percent < b.slowdown_percent;
                       });
  const SeenProcess* process =
      draft.Find(ProcessName(draft.job.metadata.name, Role::kWorker, slowest->worker));
  if (process == nullptr) return;
  draft.AvoidNodeOf(*process);
  draft.End(*process, PlanReason::kStraggler);
  draft.Report(EventType::kWarning, PlanReason::kStraggler,
               fmt::format("{} takes {:.1f} times the median worker's time and is replaced",
                           Named(*process), slowest->slowdown_percent / 100));
}

}  // namespace paceline::job
