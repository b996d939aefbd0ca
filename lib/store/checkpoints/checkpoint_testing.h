// Defines a small model's checkpoint, written and read back, for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <stdlib.h>

#include "lib/store/checkpoints/checkpoint_folder.h"
#include "lib/store/checkpoints/checkpoint_slice.h"
#include "lib/store/layout.h"

namespace paceline::store::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = std::filesystem::temp_directory_path() / "checkpoint-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// 40,000 parameters in two tensors, which two slices cut, a float buffer and an int64 one.
inline Layout CutLayout() {
  return Layout::Create({{"a", {100, 100}},
                         {"b", {30000}},
                         {"mean", {4}, DataType::kFloat32, TensorKind::kBuffer},
                         {"count", {1}, DataType::kInt64, TensorKind::kBuffer}})
      .value();
}

// A slice with its optimizer, told apart by `salt`.
struct SliceUnderTest {
  Layout layout = CutLayout();
  Slice slice;
  std::vector<std::byte> bytes;
  std::unique_ptr<GroupedOptimizer> optimizer;
  std::unique_ptr<MovingAverage> average;  // Null without one.
  std::shared_ptr<Published> kept;         // Is written with it; null: nothing.
  std::optional<KeptRoom> kept_room;       // Is read with it.

  SliceUnderTest(uint32_t rank, uint32_t shards, const optim::OptimizerOptions& options,
                 float salt = 0)
      : slice(SliceOverShards(layout, shards)[rank]), bytes(slice.size_bytes()) {
    optimizer = std::make_unique<GroupedOptimizer>(
        GroupedOptimizer::Create(options, {}, layout, slice).value());
    if (salt == 0) return;
    for (uint64_t at = 0; at + 4 <= bytes.size(); at += 4) {
      const float value = salt + static_cast<float>(slice.begin_bytes + at);
      std::memcpy(&bytes[at], &value, 4);
    }
    for (auto& state : optimizer->optimizer().State())
      std::iota(state.values.begin(), state.values.end(), salt);
    optimizer->Restore(static_cast<uint64_t>(salt), {});
  }

  StatusOr<FileDigest> Write(const std::string& path, uint64_t version,
                             files::Disk& disk = files::SystemDisk()) {
    StateSnapshot snapshot = SnapshotOf(*optimizer, average.get());
    snapshot.kept = kept;
    return WriteCheckpointSlice(path, layout, slice, Version(version), bytes, snapshot, disk);
  }
  Status Read(const std::string& path, const FileDigest& digest, uint64_t version) {
    return ReadCheckpointSlice(path, digest, layout, slice, Version(version), bytes, *optimizer,
                               average.get(), kept_room)
        .status();
  }
  // A version of that number, all bytes of which are `fill`.
  void Keep(uint64_t version, int fill) {
    kept = std::make_shared<Published>(Region::Private(bytes.size()));
    kept->version = Version(version);
    std::ranges::fill(kept->bytes(), std::byte(fill));
  }
  // With values told apart by `salt`, after so many updates; 0: as it is made.
  void Average(float salt = 0) {
    average = std::make_unique<MovingAverage>(0.9, PartsOf(layout, slice), nullptr);
    if (salt == 0) return;
    std::iota(average->values().begin(), average->values().end(), 1000 * salt);
    average->Restore(static_cast<uint64_t>(salt));
  }
  std::vector<float> Averages() { return {average->values().begin(), average->values().end()}; }
  std::vector<std::vector<float>> States() {
    std::vector<std::vector<float>> states;
    for (auto& state : optimizer->optimizer().State())
      states.emplace_back(state.values.begin(), state.values.end());
    return states;
  }
};

// One slice, state and manifest, as the processes write them.
inline Status WriteWholeCheckpoint(const std::string& folder, uint64_t serial, uint64_t version,
                                   const std::string& run = "run",
                                   files::Disk& disk = files::SystemDisk()) {
  CheckpointManifest manifest{.name = CheckpointName(serial, {1, 0}, Version(version)),
                              .serial = serial,
                              .generation = {1, 0},
                              .version = Version(version),
                              .run = run,
                              .state = {},
                              .shards = {}};
  PACELINE_RETURN_IF_ERROR(MakeCheckpointFolder(folder, manifest.name, disk));
  SliceUnderTest slice(0, 1, optim::SgdOptions{.momentum = 0.9}, static_cast<float>(version + 1));
  PACELINE_ASSIGN_OR_RETURN(
      const FileDigest digest,
      slice.Write(SlicePath(folder, manifest.name, ShardId(0)), version, disk));
  manifest.shards = {digest};
  return CompleteCheckpoint(folder, manifest, fmt::format("state of v{}", version), disk);
}

}  // namespace paceline::store::testing
