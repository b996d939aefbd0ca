// Defines where a job's checkpoints go, which decides what a lost parameter server costs.
#pragma once

#include <string>

#include "lib/job/training_job.h"

namespace paceline::job {

enum class CheckpointPlace {
  kNowhere,
  kVolume,         // spec.checkpoint.volume.
  kClaimTemplate,  // spec.checkpoint.volumeClaimTemplate.
  kOutputVolume,   // Nobody asked, and the only shard has the volume of the output.
};

// Whether spec.checkpoint asks for them.
bool HasCheckpoints(const JobSpec& spec);

// Whether nobody has said that there shall be none, nor where.
bool MayHaveDefaultCheckpoints(const JobSpec& spec);

// On a cluster. On one machine those that nobody asked for are in the run's folder.
CheckpointPlace CheckpointPlaceOf(const JobSpec& spec);

// Of kNowhere on a cluster: why, and what would be right.
std::string WhyNoCheckpoints(const JobSpec& spec);

}  // namespace paceline::job
