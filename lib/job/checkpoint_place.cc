#include "lib/job/checkpoint_place.h"

namespace paceline::job {

bool HasCheckpoints(const JobSpec& spec) { return spec.checkpoint && spec.checkpoint->enabled; }

bool MayHaveDefaultCheckpoints(const JobSpec& spec) { return !spec.checkpoint; }

CheckpointPlace CheckpointPlaceOf(const JobSpec& spec) {
  if (HasCheckpoints(spec)) {
    return spec.checkpoint->volume ? CheckpointPlace::kVolume : CheckpointPlace::kClaimTemplate;
  }
  const bool may_be =
      MayHaveDefaultCheckpoints(spec) && spec.output.volume && spec.parameter_server.shards == 1;
  // An emptyDir goes with the pod, and so with what checkpoints are for.
  return may_be && !spec.output.volume->empty_dir ? CheckpointPlace::kOutputVolume
                                                  : CheckpointPlace::kNowhere;
}

std::string WhyNoCheckpoints(const JobSpec& spec) {
  if (!MayHaveDefaultCheckpoints(spec)) return "spec.checkpoint.enabled is false";
  if (spec.output.volume && !spec.output.volume->empty_dir) {
    return "the shards do not share spec.output.volume; give spec.checkpoint a "
           "volumeClaimTemplate, or a volume that all can mount";
  }
  return "the job has no volume that outlives its pods; give it spec.output.volume or "
         "spec.checkpoint";
}

}  // namespace paceline::job
