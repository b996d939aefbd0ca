// Defines what a folder of checkpoints holds, and how one gets there whole or not at all.
//
//   000012-g1.0-v340/           one checkpoint: serial, generation, version
//     shard-0.safetensors       checkpoint_slice.h, one for each shard
//     state.json                the coordinator's: ledger, schedule, policy; written by its owner
//     manifest.json             last: sizes and SHA-256 of the others. Without it the checkpoint is
//                               incomplete and counts for nothing.
//   finished.json               which run ended well; absent if none did
//   .lock                       held by the run that writes here while it lives (files::FolderLock)
//
// Where each shard has a volume of its own, rank 0's holds state, manifest and its own slice, and
// each other volume the slices of its shard under the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/files/disk.h"
#include "lib/store/sha256.h"

namespace paceline::store {

inline constexpr std::string_view kRunLockName = ".lock";

struct CheckpointManifest {
  std::string name;     // Of its folder; CheckpointName of the three below.
  uint64_t serial = 0;  // One more than that of any earlier checkpoint: the newest has the largest.
  Generation generation;
  Version version;
  std::string run;  // Whose it is: an id of the run, the same over all its restarts.
  FileDigest state;
  std::vector<FileDigest> shards;  // By rank.
};

std::string CheckpointName(uint64_t serial, const Generation& generation, Version version);
// "shard-3.safetensors"
std::string SliceFileName(ShardId shard);
// FOLDER/NAME/shard-3.safetensors
std::string SlicePath(const std::string& folder, const std::string& name, ShardId shard);

// Makes FOLDER/NAME for a slice to be written into, if it is not there.
Status MakeCheckpointFolder(const std::string& folder, const std::string& name,
                            files::Disk& disk = files::SystemDisk());

// Writes state and manifest; the slices are there. `manifest.state` is filled in. After an error
// the checkpoint is as incomplete as before.
Status CompleteCheckpoint(const std::string& folder, CheckpointManifest manifest,
                          const std::string& state, files::Disk& disk = files::SystemDisk());

struct FoundCheckpoint {
  CheckpointManifest manifest;
  std::string state;  // The text of state.json.
};

struct CheckpointScan {
  std::vector<FoundCheckpoint> complete;  // Newest first. Slices are not read.
  std::vector<std::string> problems;  // Of those that have a manifest and are no good, in words.
  // Of those, one that no start of this program will ever read, and that is newer than all that are
  // complete: Unimplemented (a later version's format) or PermissionDenied, naming the file and
  // what to do. Its training is not gone: nobody should go on without it unasked. Else OK.
  Status unreadable;
  uint64_t serial_max = 0;  // Over all that have a name, incomplete ones too.
  std::optional<std::string> finished_run;
};

// Whether another start, of the same program by the same user, can only find the same.
bool IsUnreadable(const Status& status);

// An empty scan if the folder is missing. Errors: it cannot be read.
StatusOr<CheckpointScan> ScanCheckpoints(const std::string& folder);

// Takes all checkpoints away but those of these names, incomplete ones too; what has no
// checkpoint's name is not touched. The manifest goes first. Returns the first error, having tried
// all.
Status KeepCheckpoints(const std::string& folder, const std::vector<std::string>& names,
                       files::Disk& disk = files::SystemDisk());
// The same for the slices of one shard, whose volume may be another than the coordinator's.
Status KeepSlices(const std::string& folder, ShardId shard, const std::vector<std::string>& names,
                  files::Disk& disk = files::SystemDisk());

// It is as incomplete as one whose writer was killed, also after a crash; what is left of it goes
// with the next ones. OK if it is not there.
Status ForsakeCheckpoint(const std::string& folder, const std::string& name,
                         files::Disk& disk = files::SystemDisk());

// That run ended well: its checkpoints are not for another run to go on from.
Status WriteFinishedRun(const std::string& folder, const std::string& run,
                        files::Disk& disk = files::SystemDisk());

}  // namespace paceline::store
