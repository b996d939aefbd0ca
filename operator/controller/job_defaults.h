// Settles which defaults a job's pods have.
#pragma once

#include <vector>

#include "lib/job/manifest/training_job.h"
#include "operator/controller/cluster_view.h"
#include "operator/controller/job_record.h"
#include "operator/controller/pods/own_pod.h"
#include "operator/objects/defaults/pod_defaults.h"

namespace paceline::controller {

// Those of the job's first start, or of its first since it was suspended, until it ends: its record
// has them, else its ConfigMap; a job that has neither was begun without any. Of one that has begun
// nothing yet, `todays`. What is known of objects that have others is forgotten.
void SettleDefaults(const job::TrainingJob& job, const std::vector<OwnPod>& own,
                    const ClusterView& view, const PodDefaults& todays, JobRecord& record);

}  // namespace paceline::controller
