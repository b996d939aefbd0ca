#include "operator/objects/pods/volume_source.h"

#include "lib/job/manifest/encode.h"

namespace paceline::controller {

nlohmann::json OutputVolumeSource(const job::TrainingJob& job) {
  return job::ToJson(job).at("spec").at("output").at("volume");
}

nlohmann::json CheckpointVolumeSource(const job::TrainingJob& job) {
  return job::ToJson(job).at("spec").at("checkpoint").at("volume");
}

}  // namespace paceline::controller
