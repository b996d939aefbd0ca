// Defines CoordinatorFiles: what a coordinator opens and looks for before it begins.
#pragma once

#include <memory>

#include "lib/base/status.h"
#include "lib/files/folder_lock.h"
#include "lib/files/room.h"
#include "lib/job/manifest/training_job.h"
#include "lib/telemetry/trace_segments.h"
#include "ps-server/checkpoints.h"
#include "ps-server/coordinator/commit_log.h"
#include "ps-server/options.h"

namespace paceline::ps {

struct CoordinatorFiles {
  std::unique_ptr<telemetry::TraceSegments>
      trace;  // Null: none is wanted, or it cannot be written.
  std::unique_ptr<files::Room> room = std::make_unique<files::Room>();  // For the final model.
  std::unique_ptr<CommitLog> commit_log;                                // Null: none is wanted.
  FoundCheckpoints checkpoints;  // Empty without a folder for them.
  files::FolderLock run;         // While it writes checkpoints (run_lock.h).
  files::FolderLock model;       // Until it is written.
};

// Logs what the checkpoints came to. InvalidArgument if the job wants some and has no folder for
// them; errors of the commit log, the token's file, TakeModel and FindCheckpoints.
StatusOr<CoordinatorFiles> OpenCoordinatorFiles(const Options& options,
                                                const job::TrainingJob& job);

}  // namespace paceline::ps
