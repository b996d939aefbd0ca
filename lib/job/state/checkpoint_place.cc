#include "lib/job/state/checkpoint_place.h"

#include <fmt/format.h>

namespace paceline::job {

namespace {

// File systems of a network. Of a volume that a driver brings (csi, ephemeral) nobody knows.
bool IsSharedByKind(const Volume& volume) {
  return volume.others.contains("nfs") || volume.others.contains("cephfs") ||
         volume.others.contains("azureFile");
}

}  // namespace

bool HasCheckpoints(const JobSpec& spec) { return spec.checkpoint && spec.checkpoint->enabled; }

bool MayHaveDefaultCheckpoints(const JobSpec& spec) { return !spec.checkpoint; }

std::string DecidingClaim(const JobSpec& spec) {
  const bool decides = MayHaveDefaultCheckpoints(spec) && spec.parameter_server.shards > 1 &&
                       spec.output.volume && spec.output.volume->persistent_volume_claim;
  return decides ? spec.output.volume->persistent_volume_claim->claim_name : "";
}

CheckpointPlace CheckpointPlaceOf(const JobSpec& spec, bool is_output_shared) {
  if (HasCheckpoints(spec)) {
    return spec.checkpoint->volume ? CheckpointPlace::kVolume : CheckpointPlace::kClaimTemplate;
  }
  // An emptyDir goes with the pod, and so with what checkpoints are for.
  if (!MayHaveDefaultCheckpoints(spec) || !spec.output.volume || spec.output.volume->empty_dir)
    return CheckpointPlace::kNowhere;
  const bool can_all_mount = spec.parameter_server.shards == 1 ||
                             IsSharedByKind(*spec.output.volume) ||
                             (is_output_shared && !DecidingClaim(spec).empty());
  return can_all_mount ? CheckpointPlace::kOutputVolume : CheckpointPlace::kNowhere;
}

NoCheckpoints WhatForbidsCheckpoints(const JobSpec& spec,
                                     const std::optional<ClaimAccess>& output_claim) {
  if (!MayHaveDefaultCheckpoints(spec)) return NoCheckpoints::kSwitchedOff;
  if (!spec.output.volume || spec.output.volume->empty_dir) return NoCheckpoints::kNoVolume;
  if (DecidingClaim(spec).empty()) return NoCheckpoints::kNotShared;
  return output_claim ? NoCheckpoints::kClaimNotShared : NoCheckpoints::kClaimNotThere;
}

std::string WhyNoCheckpoints(const JobSpec& spec, const std::optional<ClaimAccess>& output_claim) {
  switch (WhatForbidsCheckpoints(spec, output_claim)) {
    case NoCheckpoints::kSwitchedOff:
      return "spec.checkpoint.enabled is false";
    case NoCheckpoints::kNoVolume:
      return "the job has no volume that outlives its pods; give it spec.output.volume or "
             "spec.checkpoint";
    case NoCheckpoints::kNotShared:
      return "the shards do not share spec.output.volume; give spec.checkpoint a "
             "volumeClaimTemplate, or a volume that all can mount";
    case NoCheckpoints::kClaimNotThere:
      return fmt::format("the claim {} of spec.output.volume, which decides it, is not there yet",
                         DecidingClaim(spec));
    case NoCheckpoints::kClaimNotShared:
      break;
  }
  return fmt::format(
      "the shards cannot share the claim {} of spec.output.volume, whose access mode is {}; let it "
      "be ReadWriteMany, or give spec.checkpoint a volumeClaimTemplate, or a volume that all can "
      "mount",
      DecidingClaim(spec), output_claim->modes);
}

}  // namespace paceline::job
