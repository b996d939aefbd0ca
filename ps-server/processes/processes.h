// The two lives of paceline-ps: coordinator with shard 0, and a shard of a higher rank.
#pragma once

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
#include "ps-server/options.h"

namespace paceline::ps {

// Until the job is over, or SIGTERM. OK if the job succeeded; an error with the reason if it
// failed.
Status RunCoordinator(const Options& options, const job::TrainingJob& job);

// Until the coordinator says stop, or SIGTERM. Unavailable if the coordinator is lost.
Status RunShard(const Options& options, const job::TrainingJob& job);

}  // namespace paceline::ps
