// Defines how one shard's slice lies in a checkpoint: one safetensors file of parameters, buffers,
// optimizer state and, where there is one, the moving average; and of an earlier version that is
// kept, its parameters and buffers.
//
// A tensor is named by what it is and what it belongs to: "parameter:conv1.weight",
// "buffer:bn.running_mean", "momentum_buffer:conv1.weight", "average:conv1.weight"; those of a kept
// version "kept:conv1.weight", and the metadata has its number, "kept_version". A tensor that
// the slice holds as a whole has its shape. Of one that the slice cuts there is the part, flat, and
// the file's metadata says which: {"range:conv1.weight": "0 4096"}, in elements, half-open.
//
// The metadata count the optimizer's steps, "optimizer_steps", and of a tensor that some of them
// have left out how many: {"steps_skipped:head.weight": "12"}. Files from before that have none:
// one count for all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/files/disk.h"
#include "lib/optim/optimizer.h"
#include "lib/store/grouped_optimizer.h"
#include "lib/store/layout.h"
#include "lib/store/moving_average.h"
#include "lib/store/published.h"
#include "lib/store/sha256.h"

namespace paceline::store {

// A copy of what belongs to the parameters of one version: an optimizer's state, and the moving
// average. A value.
struct StateSnapshot {
  struct Tensor {
    std::string name;           // As of optim::Optimizer::StateTensor; "average".
    std::vector<float> values;  // One for each parameter of the slice.
  };
  uint64_t steps = 0;
  std::vector<SkippedSteps> skipped = {};
  std::optional<uint64_t> average_updates = std::nullopt;  // Absent: there is no average.
  std::vector<Tensor> tensors = {};
  std::shared_ptr<const Published> kept = nullptr;  // Another version, or this one; null: none.
};

StateSnapshot SnapshotOf(GroupedOptimizer& optimizer, MovingAverage* average = nullptr);

// `bytes` are the slice's, arranged as the layout; `snapshot` is of the same version. Errors as of
// WriteSafetensors: nothing is left behind then. Blocks as the disk does. `meter` counts bytes.
StatusOr<FileDigest> WriteCheckpointSlice(const std::string& path, const Layout& layout,
                                          const Slice& slice, Version version,
                                          std::span<const std::byte> bytes,
                                          const StateSnapshot& snapshot,
                                          files::Disk& disk = files::SystemDisk(),
                                          Meter* meter = nullptr);

// Where a kept version goes.
struct KeptRoom {
  Version version;
  std::span<std::byte> bytes;  // A slice.
};

struct RestoredSlice {
  bool had_average = false;  // The file holds one.
};

// Fills `bytes`, `optimizer` and, unless it is null or the file holds none, `average`, all of that
// slice; and the room of `kept`, if it is given, which must be of the version that the file keeps.
// DataLoss, naming the file, if it is not the one of `digest`, or is missing; FailedPrecondition,
// naming the tensor, if it holds another slice, version or kind of optimizer. What is filled in is
// then undefined.
StatusOr<RestoredSlice> ReadCheckpointSlice(const std::string& path, const FileDigest& digest,
                                            const Layout& layout, const Slice& slice,
                                            Version version, std::span<std::byte> bytes,
                                            GroupedOptimizer& optimizer,
                                            MovingAverage* average = nullptr,
                                            const std::optional<KeptRoom>& kept = std::nullopt,
                                            Meter* meter = nullptr);

}  // namespace paceline::store
