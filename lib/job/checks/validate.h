// Judges a decoded and defaulted job: bounds, comparisons between fields, and what this program can
// do.
#pragma once

#include <vector>

#include "lib/job/checks/capabilities.h"
#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {

// All that is wrong, in the order of the checks; lines are 0. `known` are errors that decoding has
// already reported: what follows from the same fields is not said again.
std::vector<FieldError> Validate(const TrainingJob& job, const Capabilities& capabilities,
                                 const std::vector<FieldError>& known = {});

}  // namespace paceline::job
