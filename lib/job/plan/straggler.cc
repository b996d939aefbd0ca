#include <algorithm>

#include <fmt/format.h>

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
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr || process->state != ProcessState::kRunning || process->is_stopping)
      return;
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
  draft.End(*process, PlanReason::kStraggler);
  draft.Report(EventType::kWarning, PlanReason::kStraggler,
               fmt::format("{} takes {:.0f} % of the median worker's time and is replaced",
                           process->name, slowest->slowdown_percent));
}

}  // namespace paceline::job
