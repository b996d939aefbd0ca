// Turns a resolved TrainingJob into what lib/learn is told.
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/learn/training.h"

namespace paceline::worker {

// Relative paths of the job are taken from `folder`. `job` is valid.
learn::TrainingOptions TrainingOptionsFrom(const job::TrainingJob& job, const std::string& folder);

// What --device says ("cpu", "cuda", "cuda-if-usable"; checked) comes to on this machine, as
// lib/learn names it. FailedPrecondition where a GPU was asked for that cannot be used; where it is
// only wanted, the CPU, said in the log.
StatusOr<std::string> ChooseDevice(const std::string& wish);

}  // namespace paceline::worker
