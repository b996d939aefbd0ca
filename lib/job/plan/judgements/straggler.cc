#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {

namespace {

// Whether it was started again not long ago, where there is only this one machine: that may help
// once, and costs the job a worker each time.
bool WasTriedHere(const Draft& draft, const SeenProcess& process) {
  return process.node.empty() && process.attempt > 0 &&
         draft.now - process.started_at < draft.options.healthy_after;
}

// Whether the group has one more than it needs; all of them run.
bool CanSpare(const Draft& draft, const std::string& group) {
  const std::optional<GroupView> found = FindGroup(draft.job.spec.workers, group);
  return found && found->replicas > found->needed;
}

// The slowest that may do better elsewhere, or in another life; null if there is none.
const SeenProcess* FindMovable(const Draft& draft, double& slowdown_percent) {
  const SeenProcess* slowest = nullptr;
  for (const SeenStraggler& straggler : draft.report->stragglers) {
    const SeenProcess* process = draft.Find(
        ProcessName(draft.job.metadata.name, Role::kWorker, straggler.worker, straggler.group));
    if (process == nullptr || draft.HasNoOtherNode(*process) || WasTriedHere(draft, *process))
      continue;
    if (!CanSpare(draft, straggler.group)) continue;
    if (slowest != nullptr && straggler.slowdown_percent <= slowdown_percent) continue;
    slowest = process;
    slowdown_percent = straggler.slowdown_percent;
  }
  return slowest;
}

}  // namespace

// One at a time, the slowest first, and only while enough others run: a replacement costs the job a
// worker for as long as it takes to start.
void JudgeStragglers(Draft& draft) {
  if (draft.job.spec.workers.straggler_policy.action != StragglerAction::kReplace) return;
  if (draft.report == nullptr || draft.report->stragglers.empty() || draft.IsFinishing()) return;
  for (const WantedProcess& wanted : draft.wanted) {
    if (wanted.role == Role::kWorker && !IsUp(draft.Find(wanted.name))) return;
  }
  double slowdown_percent = 0;
  const SeenProcess* process = FindMovable(draft, slowdown_percent);
  if (process == nullptr) return;
  draft.AvoidNodeOf(*process);
  draft.End(*process, PlanReason::kStraggler);
  draft.Report(
      EventType::kWarning, PlanReason::kStraggler,
      fmt::format("{} takes {:.1f} times the median worker's time and is {}", Named(*process),
                  slowdown_percent / 100, process->node.empty() ? "started again" : "replaced"));
}

}  // namespace paceline::job
