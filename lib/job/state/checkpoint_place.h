// Defines where a job's checkpoints go, which decides what a lost parameter server costs.
#pragma once

#include <optional>
#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/job/manifest/words.h"

namespace paceline::job {

enum class CheckpointPlace {
  kNowhere,
  kVolume,         // spec.checkpoint.volume.
  kClaimTemplate,  // spec.checkpoint.volumeClaimTemplate.
  kOutputVolume,   // Nobody asked, and all shards can mount the volume of the output.
};

// What a claim says of who may mount it. It says the same for as long as it is there, and it is
// there for as long as a pod mounts it: what is decided by it needs no other memory.
struct ClaimAccess {
  bool is_shared = false;  // By the pods of all machines, to write.
  std::string modes;       // As it lists them: "ReadWriteOnce, ReadOnlyMany".
  friend bool operator==(const ClaimAccess&, const ClaimAccess&) = default;
};

// Whether spec.checkpoint asks for them.
bool HasCheckpoints(const JobSpec& spec);

// Whether nobody has said that there shall be none, nor where.
bool MayHaveDefaultCheckpoints(const JobSpec& spec);

// The claim whose access decides where on a cluster checkpoints are; empty: none does.
std::string DecidingClaim(const JobSpec& spec);

// On a cluster. On one machine those that nobody asked for are in the run's folder.
// `is_output_shared`: as the deciding claim says.
CheckpointPlace CheckpointPlaceOf(const JobSpec& spec, bool is_output_shared);

// Why CheckpointPlaceOf is kNowhere.
enum class NoCheckpoints { kSwitchedOff, kNoVolume, kNotShared, kClaimNotThere, kClaimNotShared };
PACELINE_WORDS(NoCheckpoints, "SwitchedOff", "NoVolume", "NotShared", "ClaimNotThere",
               "ClaimNotShared")

// Of kNowhere on a cluster. `output_claim`: what is known of the deciding claim; nothing while it
// is not there.
NoCheckpoints WhatForbidsCheckpoints(const JobSpec& spec,
                                     const std::optional<ClaimAccess>& output_claim);

// The same in words, and what would be right.
std::string WhyNoCheckpoints(const JobSpec& spec, const std::optional<ClaimAccess>& output_claim);

}  // namespace paceline::job
