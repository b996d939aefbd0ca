#include "ps-server/shard/slice_saver.h"

#include <utility>

#include "lib/base/size_text.h"
#include "lib/files/disk.h"
#include "lib/store/checkpoints/checkpoint_folder.h"
#include "lib/store/checkpoints/checkpoint_name.h"
#include "lib/store/checkpoints/checkpoint_slice.h"
#include "lib/telemetry/log.h"

namespace paceline::ps {

namespace {

constexpr uint64_t kSmallPart = 100;  // Bytes that are so often free are few.

uint64_t SizeOf(const store::Published& version, const store::StateSnapshot& snapshot) {
  uint64_t bytes = version.bytes().size();
  for (const auto& tensor : snapshot.tensors) bytes += tensor.values.size() * sizeof(float);
  if (snapshot.kept != nullptr) bytes += snapshot.kept->bytes().size();
  return bytes;
}

}  // namespace

Status CheckRoom(const files::DiskSpace& space, uint64_t bytes, double free_share_min,
                 const std::string& folder) {
  const auto floor = static_cast<uint64_t>(free_share_min * static_cast<double>(space.total_bytes));
  if (floor == 0 || space.free_bytes >= bytes + floor) return OkStatus();
  if (bytes <= space.free_bytes / kSmallPart) return OkStatus();
  return ResourceExhausted(
      "{}: {} more would leave less than {:g} % of the disk free: {} of {} are", folder,
      SizeText(bytes), 100 * free_share_min, SizeText(space.free_bytes),
      SizeText(space.total_bytes));
}

SliceSaver::SliceSaver(SlicePlace place, std::function<void(protocol::ShardMessage)> report)
    : place_(std::move(place)), report_(std::move(report)) {}

Status SliceSaver::Save(const std::shared_ptr<store::Shard>& shard,
                        const protocol::SaveSlice& order) {
  std::shared_ptr<const store::Published> newest = shard->Newest();
  if (newest == nullptr || newest->version != order.version) {
    return FailedPrecondition("newest version is {}, want {} for checkpoint {}",
                              newest ? ToString(newest->version) : "none", order.version,
                              order.checkpoint);
  }
  auto snapshot = std::make_shared<store::StateSnapshot>(
      store::SnapshotOf(shard->optimizer(), shard->average()));
  if (order.kept) {
    PACELINE_ASSIGN_OR_RETURN(snapshot->kept, shard->Get(*order.kept));
    if (shard->average() != nullptr) {
      PACELINE_ASSIGN_OR_RETURN(snapshot->kept, shard->AverageOf(*snapshot->kept));
    }
  }
  background_.Do([this, shard, order, newest = std::move(newest), snapshot = std::move(snapshot)] {
    const auto write = [&]() -> StatusOr<store::FileDigest> {
      if (place_.folder.empty()) return FailedPrecondition("no folder for checkpoints was given");
      // First, so that a full volume has room again.
      if (const Status kept =
              store::KeepSlices(store::FolderOfCheckpoint(place_.folder, order.checkpoint),
                                place_.shard, store::NamesBeside(order.checkpoint, order.keep));
          !kept.ok()) {
        telemetry::Log(telemetry::LogLevel::kWarning, "old slices stay",
                       {{"reason", Message(kept)}});
      }
      PACELINE_RETURN_IF_ERROR(files::MakeFolders(place_.folder));
      PACELINE_ASSIGN_OR_RETURN(const files::DiskSpace space, files::SpaceOf(place_.folder));
      PACELINE_RETURN_IF_ERROR(CheckRoom(space, place_.slices * SizeOf(*newest, *snapshot),
                                         place_.free_share_min, place_.folder));
      PACELINE_RETURN_IF_ERROR(store::MakeCheckpointFolder(place_.folder, order.checkpoint));
      return store::WriteCheckpointSlice(
          store::SlicePath(place_.folder, order.checkpoint, place_.shard), shard->layout(),
          shard->slice(), newest->version, newest->bytes(), *snapshot, files::SystemDisk(),
          &saved_);
    };
    const StatusOr<store::FileDigest> digest = write();
    report_(protocol::SliceSaved{order.checkpoint, digest.ok() ? *digest : store::FileDigest{},
                                 Message(digest.status())});
  });
  return OkStatus();
}

Status SliceSaver::Restore(store::Shard& shard, const protocol::RestoreSlice& restore,
                           store::Meter* meter) const {
  if (place_.folder.empty()) return FailedPrecondition("no folder for checkpoints was given");
  std::optional<store::KeptRoom> kept;
  if (restore.kept) kept = store::KeptRoom{*restore.kept, shard.NewKept(*restore.kept)};
  PACELINE_ASSIGN_OR_RETURN(
      const store::RestoredSlice restored,
      store::ReadCheckpointSlice(store::SlicePath(place_.folder, restore.checkpoint, place_.shard),
                                 restore.digest, shard.layout(), shard.slice(), restore.version,
                                 shard.initial_values(), shard.optimizer(), shard.average(), kept,
                                 meter));
  const bool has_average = shard.average() != nullptr;
  if (restored.had_average != has_average) {
    telemetry::Log(telemetry::LogLevel::kInfo,
                   has_average
                       ? "the average of the weights begins anew, with those of the checkpoint"
                       : "the checkpoint's average of the weights is left out",
                   {{"checkpoint", restore.checkpoint},
                    {"why", has_average ? "it holds no average" : "spec.training.ema is absent"}});
  }
  return OkStatus();
}

}  // namespace paceline::ps
