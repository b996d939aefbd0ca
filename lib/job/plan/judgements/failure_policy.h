// Defines what runPolicy.failurePolicy makes of how processes ended. The vocabulary is that of a
// Job's podFailurePolicy (Kubernetes, batch/v1).
#pragma once

#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"

namespace paceline::job {

// What was seen, with each end as the first rule that matches it says: Ignore makes a disruption of
// it, Count a failure, FailJob leaves it for JudgeFailurePolicy. Ends with exit code 0 match none.
Observation ApplyFailurePolicy(const TrainingJob& job, Observation seen);

}  // namespace paceline::job
