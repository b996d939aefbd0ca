// Finds what plans before have left in a job's status for those after them.
#pragma once

#include "lib/job/state/status.h"

namespace paceline::job {

// What the status remembers. One of a version that kept its memory in reasons is read once more as
// that version did; the next status that is written remembers for itself.
Remembered Recall(const JobStatus& status);

}  // namespace paceline::job
