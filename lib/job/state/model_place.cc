#include "lib/job/state/model_place.h"

#include <fmt/format.h>

namespace paceline::job {
namespace {

constexpr const char* kFile = "model.safetensors";

}  // namespace

bool GoesWithPod(const JobSpec& spec) {
  const std::optional<Volume>& volume = spec.output.volume;
  return !volume || volume->empty_dir || volume->others.contains("ephemeral");
}

std::string ModelPlace(const JobSpec& spec) {
  const Volume& volume = *spec.output.volume;
  if (volume.persistent_volume_claim)
    return fmt::format("claim {}, {}", volume.persistent_volume_claim->claim_name, kFile);
  if (volume.host_path)
    return fmt::format("{}/{} on the node of the coordinator's pod", volume.host_path->path, kFile);
  const std::string kind = volume.others.empty() ? "volume" : volume.others.begin()->first;
  return fmt::format("spec.output.volume ({}), {}", kind, kFile);
}

std::string TokenSecretName(const std::string& job_name) { return job_name + "-token"; }

}  // namespace paceline::job
