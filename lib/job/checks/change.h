// Judges what an update changes of a job that exists.
#pragma once

#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {

// Both jobs are valid and have their defaults; each error names what may not differ, or not now:
// - fields whose note says kImmutable, and all below them;
// - the volumes of output and checkpoint, unless `from` is suspended: pods that run keep what they
//   were started with, pods that come later would get the others, and a coordinator that is started
//   again would look for its checkpoints in an empty place.
// The CustomResourceDefinition says the same; a test feeds both the same changes.
std::vector<FieldError> ValidateChange(const TrainingJob& from, const TrainingJob& to);

}  // namespace paceline::job
