// Builds the command lines of the programs in a job's pods.
#pragma once

#include <string>
#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/plan.h"

namespace paceline::controller {

// "paceline-ps" or "paceline-worker".
std::string ProgramOf(job::Role role);

// Without the program's name.
std::vector<std::string> ProgramArguments(const job::TrainingJob& job, const job::Start& start);

}  // namespace paceline::controller
