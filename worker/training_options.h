// Turns a resolved TrainingJob into what lib/learn is told.
#pragma once

#include <string>

#include "lib/job/training_job.h"
#include "lib/learn/training.h"

namespace paceline::worker {

// Relative paths of the job are taken from `folder`. `job` is valid.
learn::TrainingOptions TrainingOptionsFrom(const job::TrainingJob& job, const std::string& folder);

}  // namespace paceline::worker
