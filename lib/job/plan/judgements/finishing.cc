#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {

// Of a coordinator's life: another one has training before it again, unless the model was written.
void RecordFinishing(Draft& draft) {
  if (draft.report == nullptr || IsFinished(draft.seen.status)) return;
  std::optional<FinishingStatus>& finishing = draft.plan.status.finishing;
  if (draft.report->phase == TrainingPhase::kFinishing) {
    finishing = FinishingStatus{.coordinator_start = draft.seen.status.coordinator_starts,
                                .model_version = draft.report->model_version};
  } else if (draft.report->phase < TrainingPhase::kFinishing) {
    finishing.reset();
  }
  if (draft.plan.status.model) finishing.reset();  // What there was to say of it is said there.
}

}  // namespace paceline::job
