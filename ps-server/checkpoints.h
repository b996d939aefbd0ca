// What the coordinator does with its folder of checkpoints: find what to go on from, complete one,
// say that the run ended well.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/coordination/checkpoint.h"
#include "lib/job/manifest/training_job.h"
#include "ps-server/options.h"
#include "ps-server/shard/slice_saver.h"

namespace paceline::ps {

// Whose checkpoints they are: the same over all restarts of a job's processes.
std::string RunOf(const job::TrainingJob& job);

struct FoundCheckpoints {
  coordination::CheckpointOptions options;
  std::string note;                   // For people: what is gone on from, or why not.
  std::vector<std::string> problems;  // Checkpoints that are no good, in words.
};

// NotFound if there must be one and is none; InvalidArgument, saying what would be right, if what
// is there is of another job; Unimplemented, PermissionDenied of what no start of this program can
// read, where that is the newest. Errors of the folder as they come.
StatusOr<FoundCheckpoints> FindCheckpoints(const std::string& folder, const job::TrainingJob& job,
                                           coordination::CheckpointOptions options,
                                           ResumeWish resume);

// As the job wants them, or as nobody asked for them.
coordination::CheckpointOptions CheckpointOptionsFrom(const Options& options,
                                                      const job::TrainingJob& job);

// Where this process's shard writes its slices, and what it leaves free.
SlicePlace SlicePlaceFrom(const Options& options, const job::TrainingJob& job);

// The folder that this job's new ones go to; empty: it has none.
std::string CheckpointsOf(const Options& options, const job::TrainingJob& job);
// After success: records the end for later runs of other names; of those that nobody asked for,
// takes all away.
Status EndCheckpoints(const Options& options, const job::TrainingJob& job);
// Below the folder of checkpoints, where new ones of this job go: "" or "a1b2/" (ResumeWish).
std::string RunFolder(const job::TrainingJob& job, ResumeWish resume);

// Nobody goes on from it any more. FailedPrecondition of another job's, which is not this one's to
// touch.
Status ForsakeCheckpoint(const Options& options, const job::TrainingJob& job,
                         const std::string& name);

// The slices are there. What cannot be taken away of others is logged.
Status CompleteCheckpoint(const std::string& folder, const std::string& run,
                          const coordination::Checkpoint& checkpoint,
                          const std::vector<std::string>& keep);

}  // namespace paceline::ps
