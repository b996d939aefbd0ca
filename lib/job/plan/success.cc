#include "lib/job/plan/judgements.h"

namespace paceline::job {

void JudgeSuccess(Draft& draft) {
  if (!draft.CoordinatorSucceeded()) return;
  draft.Conclude(Verdict::kSucceeded, PlanReason::kTrainingSucceeded,
                 "the model is trained and saved");
}

}  // namespace paceline::job
