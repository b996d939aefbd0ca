// Defines CheckpointPlace: which folder of a volume holds a run's checkpoints, and whose it goes on
// from.
//
//   VOLUME/<run>/            of each run its own, so that several can share a volume
//     000012-g1.0-v340/ ...  lib/store/checkpoints/checkpoint_folder.h
//     run.json               what it trains: the manifest's path and the job
//     .lock                  locked by the processes that write there; in it the run's name
//   VOLUME/000012-...        of versions before: found, and moved to the run that goes on from them
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/files/folder_lock.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::local {

struct CheckpointWish {
  std::string volume;    // There, and absolute.
  std::string run;       // Its folder's name.
  std::string manifest;  // Its absolute path.
  job::TrainingJob job;  // With its defaults.
  std::string resume = "auto";
  std::string owner;  // What another run is told of this one.
};

struct CheckpointPlace {
  std::string folder;
  files::FolderLock lock;
  bool goes_on = false;  // There are checkpoints in it, to go on from.
  std::string note;      // For people: what it did not go on from, and why. May be empty.
};

// Makes VOLUME/<run>, or renames another run's folder to it. That run
// - "auto": did not end well, is of the same manifest, and no field of it is another one that may
//   not change; of several the one that wrote last.
// - "always": is the newest of a job of that name. NotFound if there is none; FailedPrecondition if
//   it goes on.
// - "never": is none.
// A run whose lock is held is never taken from. Other errors as of files::Disk.
StatusOr<CheckpointPlace> TakeCheckpointPlace(const CheckpointWish& wish);

}  // namespace paceline::local
