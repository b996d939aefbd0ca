// Says in a job's status what no plan can be made of.
#pragma once

#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"
#include "operator/controller/job_record.h"

namespace paceline::controller {

// The status of a job that the API server accepts and lib/job does not: ResourcesReady is False and
// names the fields. What runs already is left alone.
job::JobStatus RefusedStatus(const job::TrainingJob& job,
                             const std::vector<job::FieldError>& errors, Time now);

// Tells the planner why objects could not be made.
void ShowTrouble(const JobRecord& record, job::Observation& seen);

}  // namespace paceline::controller
