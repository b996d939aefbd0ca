// Turns the optimizer of a TrainingJob, and its learning rate, into what lib/optim is told: in the
// server for gradients, in the worker for local steps.
#pragma once

#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/optim/optimizer.h"
#include "lib/optim/parameter_groups.h"
#include "lib/optim/schedule.h"

namespace paceline::job {

optim::OptimizerOptions OptimizerOptionsFrom(const TrainingJob& job);
std::vector<optim::ParameterGroup> ParameterGroupsFrom(const TrainingJob& job);

// What depends on the size of the training set is filled in by coordination, when the first worker
// has told it. ReduceOnPlateau, which hangs on evaluations, is kConstant here.
optim::ScheduleOptions ScheduleOptionsFrom(const Training& training);

}  // namespace paceline::job
