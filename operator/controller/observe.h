// Puts together what the planner is shown of a job in the cluster.
//
// Example:
//   const std::vector<OwnPod> pods = OwnPods(job, view.PodsOf(uid));
//   job::Observation seen = Observe(job, pods, tombstones, memory);
#pragma once

#include <vector>

#include "lib/job/observation.h"
#include "lib/job/plan.h"
#include "lib/job/training_job.h"
#include "lib/kube/runtime/informer.h"
#include "operator/controller/job_memory.h"

namespace paceline::controller {

// A pod that is one of the job's processes.
struct OwnPod {
  kube::ObjectPtr pod;
  job::SeenProcess process;
};
// Those of `pods` that are. Read once for a look at a job: there may be hundreds.
std::vector<OwnPod> OwnPods(const job::TrainingJob& job, const std::vector<kube::ObjectPtr>& pods);

// Of the pods that are the job's, and of those that went away.
job::Observation Observe(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                         const Tombstones& tombstones, const JobMemory& memory);

}  // namespace paceline::controller
