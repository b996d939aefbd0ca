// Turns the optimizer of a TrainingJob into what lib/optim is told: in the server for gradients, in
// the worker for local steps.
#pragma once

#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/optim/optimizer.h"
#include "lib/optim/parameter_groups.h"

namespace paceline::job {

optim::OptimizerOptions OptimizerOptionsFrom(const TrainingJob& job);
std::vector<optim::ParameterGroup> ParameterGroupsFrom(const TrainingJob& job);

}  // namespace paceline::job
