// Fills in what depends on other fields; plain defaults are the structs' own member initialisers.
#pragma once

#include "lib/job/manifest/training_job.h"

namespace paceline::job {

// workers.maxReplicas: workers.replicas, or of each group its own. evaluator: there, with its
// defaults, if data.eval is. Applying twice changes nothing.
void ApplyDefaults(TrainingJob& job);

}  // namespace paceline::job
