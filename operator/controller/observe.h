// Puts together what the planner is shown of a job in the cluster.
//
// Example:
//   job::Observation seen = Observe(job, OwnPods(job, view.PodsOf(uid)), record);
#pragma once

#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/plan.h"
#include "lib/job/state/observation.h"
#include "operator/controller/job_record.h"
#include "operator/controller/pods/own_pod.h"

namespace paceline::controller {

// Of the pods that are the job's, and of those that went away.
job::Observation Observe(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                         const JobRecord& record);

// How many coordinators were started, as far as is recorded or their pods say.
int64_t RecordedStarts(const job::TrainingJob& job, const std::vector<OwnPod>& pods,
                       const JobRecord& record);

}  // namespace paceline::controller
