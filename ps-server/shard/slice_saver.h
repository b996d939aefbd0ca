// Defines SliceSaver: writes a shard's slices into checkpoints, beside training, and reads them
// back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/files/disk.h"
#include "lib/protocol/shard_messages.h"
#include "lib/store/shard.h"
#include "ps-server/shard/background.h"

namespace paceline::ps {

struct SlicePlace {
  std::string folder;  // Of checkpoints; empty: there is none, and every save fails.
  ShardId shard;
  uint64_t slices = 1;        // That come onto the same disk at once.
  double free_share_min = 0;  // Of the disk: slices that would leave less free are not written,
                              // unless they are small beside what is free.
};

// ResourceExhausted, with the figures, if `bytes` more would leave less of the disk free, and are
// more than a hundredth of what is free
// (docs/adr/0066-small-default-checkpoints-fit-a-full-disk.md).
Status CheckRoom(const files::DiskSpace& space, uint64_t bytes, double free_share_min,
                 const std::string& folder);

// Call in the order of a shard's orders, one at a time.
class SliceSaver {
 public:
  // `report` gets each SliceSaved, on a thread of its own.
  SliceSaver(SlicePlace place, std::function<void(protocol::ShardMessage)> report);

  // Keeps hold of the newest version, and of the kept one, and copies the optimizer's state and the
  // moving average, so that training may go on at once: up to three slices of memory more until
  // they are written. FailedPrecondition if the newest is another version, NotFound if the kept one
  // is gone.
  Status Save(const std::shared_ptr<store::Shard>& shard, const protocol::SaveSlice& order);

  // Fills in the shard, which is not open, and what it keeps; `meter` counts bytes. Errors of
  // store::ReadCheckpointSlice.
  Status Restore(store::Shard& shard, const protocol::RestoreSlice& restore,
                 store::Meter* meter) const;

  uint64_t saved_bytes() const { return saved_.total(); }  // Written so far. Thread-safe.

 private:
  const SlicePlace place_;
  const std::function<void(protocol::ShardMessage)> report_;
  store::Meter saved_;
  Background background_;  // Last: it uses the rest.
};

}  // namespace paceline::ps
