// Defines MovingAverage: the exponential moving average of a slice's parameters over its versions,
// and which versions' can be read.
//
// As torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn: before the first commit it is
// the parameters, the first commit's replace it, and each further one moves it by a share of the
// difference. Buffers are not averaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/store/published.h"
#include "lib/store/slice_parts.h"

namespace paceline::store {

// Memory: the parameters once more, and a slice for each version whose average can be read: those
// that are pinned, and the newest one once somebody has asked for it.
class MovingAverage {
 public:
  // Makes room for one version's, a slice.
  using NewRoom = std::function<std::shared_ptr<Published>()>;

  // OK, or InvalidArgument with what `decay` must be.
  static Status Validate(double decay);
  // `decay` is valid.
  MovingAverage(double decay, const SliceParts& parts, NewRoom new_room);

  // --- Orders: one thread at a time.
  // One float32 for each parameter of the slice, at the newest version. To be filled before Start,
  // and Restore called, if they come from a checkpoint.
  std::span<float> values() { return values_; }
  uint64_t updates() const { return updates_; }
  void Restore(uint64_t updates);
  // Before Start: that average of an earlier version, or of the first, can be read until Unpin.
  void Keep(std::shared_ptr<const Published> average);
  // With the first version, whose parameters they are if nothing was restored.
  void Start(const Published& first);

  // Takes a commit's version in: Begin, Take for each block of parameters, End with all of it,
  // which is published before the lock is given up.
  std::unique_lock<std::mutex> Begin(Version version, bool is_pinned);
  void Take(uint64_t begin, std::span<const float> block);  // From that byte of the slice on.
  void End(std::span<const std::byte> published);
  void Unpin(Version version);

  // --- Readers. Thread-safe.
  // That version's slice, with averages in the place of parameters. Waits for a commit that runs
  // only where the version is not pinned. NotFound if it is superseded.
  StatusOr<std::shared_ptr<const Published>> Of(const Published& version);

 private:
  struct Kept {
    std::shared_ptr<const Published> published;
    bool is_pinned = false;
  };

  std::shared_ptr<const Published> Find(Version version) const;
  // What is not a parameter is the version's own.
  void CopyBuffers(std::span<const std::byte> from, Published& to) const;

  const float share_;  // Of a version in the average: 1 - decay.
  const SliceParts parts_;
  const NewRoom new_room_;

  std::mutex values_mutex_;  // Guards what is below, but for `kept_`.
  std::vector<float> values_;
  uint64_t updates_ = 0;
  bool is_restored_ = false;
  Version version_;                    // Of `values_`.
  std::shared_ptr<Published> pinned_;  // That is being made; null: the version has no pin.

  mutable std::mutex kept_mutex_;
  std::map<Version, Kept> kept_;
};

}  // namespace paceline::store
