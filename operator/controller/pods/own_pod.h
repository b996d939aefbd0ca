// Defines OwnPod: one of a job's pods, and the process that it is to the planner.
#pragma once

#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"
#include "lib/kube/runtime/informer.h"

namespace paceline::controller {

struct OwnPod {
  kube::ObjectPtr pod;
  job::SeenProcess process;
};

// Those of `pods` that are the job's processes. Read once for a look at a job: there may be
// hundreds.
std::vector<OwnPod> OwnPods(const job::TrainingJob& job, const std::vector<kube::ObjectPtr>& pods);

}  // namespace paceline::controller
