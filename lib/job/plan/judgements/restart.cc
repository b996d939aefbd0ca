#include <algorithm>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

Duration Backoff(int64_t failures, const PlanOptions& options) {
  Duration backoff = options.backoff_min;
  for (int64_t i = 1; i < failures && backoff < options.backoff_max; ++i) backoff *= 2;
  return std::min(backoff, options.backoff_max);
}

PlanReason ReasonOf(const SeenProcess& process) {
  if (process.is_disruption) return PlanReason::kProcessDisrupted;
  if (IsFailure(process) && process.is_out_of_memory) return PlanReason::kOutOfMemory;
  if (IsUnfit(process)) return PlanReason::kCannotWorkHere;
  return IsFailure(process) ? PlanReason::kProcessFailed : PlanReason::kProcessFinished;
}

// Whether a process that ended is needed again. Around the end of training everybody ends well, so
// that only the word of the coordinator that training goes on counts: one that takes the place of
// the one that sent all home, and was lost before anybody heard that training was over, needs them.
bool IsNeeded(const Draft& draft, const SeenProcess& process) {
  if (!draft.StillNeeds(process.role)) return false;
  if (ReasonOf(process) != PlanReason::kProcessFinished) return true;
  if (draft.HasScriptEnded(process.role, process.index, process.group)) return false;
  return !IsCoordinator(process) && draft.report != nullptr && !draft.IsFinishing();
}

// " on another machine": what becomes of one whose machine could not do the work.
std::string Where(const Draft& draft, const SeenProcess& process) {
  if (!IsUnfit(process) || process.node.empty()) return {};
  return draft.HasNoOtherNode(process) ? ", on that machine too if no other has room"
                                       : " on another machine";
}

void ReportRestart(Draft& draft, const WantedProcess& wanted, const SeenProcess& process) {
  const PlanReason reason = ReasonOf(process);
  if (wanted.role == Role::kParameterServer) {
    return draft.Report(
        EventType::kWarning, PlanReason::kRecovering,
        fmt::format("{}; it is started again, {}", DescribeExit(process), DescribeRecovery(draft)));
  }
  draft.Report(
      reason == PlanReason::kProcessFinished ? EventType::kNormal : EventType::kWarning, reason,
      fmt::format("{}; it is started again{}", DescribeExit(process), Where(draft, process)));
}

}  // namespace

void JudgeRestart(Draft& draft) {
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr || process->state != ProcessState::kExited || process->is_stopping)
      continue;
    if (!IsNeeded(draft, *process)) continue;
    const Duration healthy_after = draft.options.healthy_after;
    const PastEnds ends = {.failures = draft.FailuresOf(*process),
                           .unfit = CountUnfit(*process, draft.now, healthy_after),
                           .disruptions = CountDisruptions(*process, draft.now, healthy_after)};
    const Time ready =
        process->ended_at + Backoff(ends.failures + ends.unfit + ends.disruptions, draft.options);
    if (draft.now < ready) {
      draft.RequeueAt(ready);
      continue;
    }
    if (IsFailure(*process) && process->exit_code == kExitCannotWorkHere)
      draft.AvoidNodeOf(*process);
    draft.Begin(wanted, process->attempt + 1, ends);
    if (!draft.WasRefused(wanted.name)) ReportRestart(draft, wanted, *process);
  }
}

}  // namespace paceline::job
