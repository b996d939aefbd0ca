// Reads what a coordinator says of its job (GET /v1/job) as the planner's report.
#pragma once

#include <string_view>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"

namespace paceline::job {

// Workers get the names of the job's processes; where they run is the shell's to say. Of an answer
// without a generation, `job`'s recorded one is taken. InvalidArgument if it is not such an answer.
StatusOr<CoordinatorReport> ParseCoordinatorReport(const TrainingJob& job, std::string_view json);

}  // namespace paceline::job
