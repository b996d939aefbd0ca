#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

// Since it was expelled: a worker that is told so ends by itself, also while its step hangs.
constexpr double kEndsByItselfSeconds = 20;

}  // namespace

// Only the process that hangs: the next one of that name has not joined yet, and is no worse for
// it.
void JudgeHung(Draft& draft) {
  if (draft.report == nullptr) return;
  for (const SeenHung& hung : draft.report->hung) {
    const SeenProcess* process =
        draft.Find(ProcessName(draft.job.metadata.name, Role::kWorker, hung.worker, hung.group));
    if (!IsUp(process) || process->attempt != hung.attempt) continue;
    if (!draft.IsWanted(process->name)) continue;  // It is being stopped anyway.
    if (hung.seconds < kEndsByItselfSeconds) {
      draft.RequeueAt(draft.now + Seconds(kEndsByItselfSeconds - hung.seconds));
      continue;
    }
    draft.AvoidNodeOf(*process);
    draft.End(*process, PlanReason::kHung);
    draft.Report(EventType::kWarning, PlanReason::kHung,
                 fmt::format("{} was expelled because its step hangs, and does not end by itself: "
                             "it is stopped and replaced",
                             Named(*process)));
  }
}

}  // namespace paceline::job
