// Says of a run that writes to volumes that others use, too, whether it lives.
#pragma once

#include <string>

#include "lib/files/folder_lock.h"
#include "lib/job/manifest/training_job.h"
#include "ps-server/options.h"

namespace paceline::ps {

// Holds the lock of the folder where this job's checkpoints go, which is made: whoever goes on from
// them (FromClaim) learns by it that the job trains. It protects nothing and is waited for by
// nobody: a predecessor of this process may live on, on a machine that is cut off, and what it
// writes carries an older generation. Holds nothing where the folder is this job's alone, or on one
// machine, where `paceline run` has the lock; nothing, which is logged, where it cannot be had.
files::FolderLock MarkAsLive(const Options& options, const job::TrainingJob& job);

// Who trains and writes to that folder of checkpoints, "a1b2 (team/digits)"; empty if nobody does,
// or nobody can tell.
std::string WhoLivesIn(const std::string& run_folder);

// Holds the lock beside the final model, where the options ask for it. InvalidArgument, naming the
// job, if another job that lives will write the same model, and does so when the time to wait for
// its end is over: the later of the two would replace the earlier one's. As above, an earlier
// process of this job is no reason, and a lock that cannot be had neither, which is logged. Blocks.
StatusOr<files::FolderLock> TakeModel(const Options& options, const job::TrainingJob& job);

}  // namespace paceline::ps
