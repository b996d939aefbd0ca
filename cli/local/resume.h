// Defines which earlier run's checkpoints a run goes on from, where they are in the runs' own
// folders.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::local {

// Of checkpoints that nobody asked for.
std::string DefaultCheckpointFolder(const std::string& run_folder);

// The run of that job below `runs` whose newest complete checkpoint is the newest of all. NotFound,
// saying where was looked, if none has any; FailedPrecondition if that run is still running.
StatusOr<std::string> FindResumable(const std::string& runs, const std::string& job);

// Makes the checkpoints of `from` those of `run_folder`, which has none: they are moved, so that
// the newest run has them whatever becomes of it. Errors as of files::Disk.
Status TakeOverCheckpoints(const std::string& from, const std::string& run_folder);

}  // namespace paceline::local
