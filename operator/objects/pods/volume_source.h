// Reads the volume sources of a job's spec as Kubernetes knows them.
#pragma once

#include <nlohmann/json.hpp>

#include "lib/job/manifest/training_job.h"

namespace paceline::controller {

// {"persistentVolumeClaim": {...}} of spec.output.volume and of spec.checkpoint.volume, which are
// there.
nlohmann::json OutputVolumeSource(const job::TrainingJob& job);
nlohmann::json CheckpointVolumeSource(const job::TrainingJob& job);

}  // namespace paceline::controller
