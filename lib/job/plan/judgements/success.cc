#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

bool IsCoordinatorUp(const Draft& draft) {
  const SeenProcess* coordinator = draft.Find(draft.wanted.front().name);
  return coordinator != nullptr && coordinator->state != ProcessState::kExited;
}

}  // namespace

void JudgeSuccess(Draft& draft) {
  // What it had left to do, to judge the model, is not worth to train it once more.
  const bool was_lost = draft.IsModelWritten() && !IsCoordinatorUp(draft);
  if (was_lost && !draft.CoordinatorSucceeded()) {
    return draft.Conclude(Verdict::kSucceeded, PlanReason::kTrainingSucceeded,
                          "the model is trained and saved; the coordinator ended before it was "
                          "judged for the last time");
  }
  if (!draft.CoordinatorSucceeded()) return;
  if (draft.report != nullptr && draft.report->have_scripts_ended) {
    return draft.Conclude(Verdict::kSucceeded, PlanReason::kScriptsEnded,
                          draft.report->message + "; the model is saved");
  }
  draft.Conclude(Verdict::kSucceeded, PlanReason::kTrainingSucceeded,
                 "the model is trained and saved");
}

}  // namespace paceline::job
