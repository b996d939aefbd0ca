// Turns a resolved TrainingJob into what lib/learn is told.
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/learn/training.h"

namespace paceline::learn {

// Relative paths of the job are taken from `folder`. `job` is valid.
TrainingOptions TrainingOptionsFrom(const job::TrainingJob& job, const std::string& folder);

}  // namespace paceline::learn
