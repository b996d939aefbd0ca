// Builds the PodGroup that has a job's pods placed together or not at all.
#pragma once

#include <optional>
#include <string>

#include "lib/job/manifest/training_job.h"
#include "operator/objects/metadata.h"
#include "operator/objects/options.h"

namespace paceline::controller {

// A gang scheduler is there and the job asks for it.
bool WantsPodGroup(const job::TrainingJob& job, const ObjectOptions& options);

std::string PodGroupName(const job::TrainingJob& job);

// Not of a job that does not want one. Volcano is told what each group of workers needs too.
// minMember is what training needs to start: all parameter
// servers and minReplicas workers, which are all created before the gate opens. The group lives as
// long as the job: its pods never outlive it.
std::optional<Json> BuildPodGroup(const job::TrainingJob& job, const ObjectOptions& options);

}  // namespace paceline::controller
