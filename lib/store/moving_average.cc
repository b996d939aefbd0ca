#include "lib/store/moving_average.h"

#include <algorithm>
#include <utility>

#include "lib/store/kernels.h"

namespace paceline::store {

Status MovingAverage::Validate(double decay) {
  if (decay > 0 && decay < 1) return OkStatus();
  return InvalidArgument("decay of the average must be more than 0 and less than 1: got {}", decay);
}

MovingAverage::MovingAverage(double decay, const SliceParts& parts, NewRoom new_room)
    : share_(static_cast<float>(1 - decay)),
      parts_(parts),
      new_room_(std::move(new_room)),
      values_(parts.parameters_end / sizeof(float)) {}

void MovingAverage::Restore(uint64_t updates) {
  updates_ = updates;
  is_restored_ = true;
}

void MovingAverage::Keep(std::shared_ptr<const Published> average) {
  std::lock_guard lock(kept_mutex_);
  const Version version = average->version;
  kept_[version] = {std::move(average), true};
}

void MovingAverage::Start(const Published& first) {
  std::lock_guard lock(values_mutex_);
  version_ = first.version;
  if (!is_restored_)
    std::ranges::copy(View<float>(first.bytes(), 0, parts_.parameters_end), values_.begin());
}

std::unique_lock<std::mutex> MovingAverage::Begin(Version version, bool is_pinned) {
  std::unique_lock lock(values_mutex_);
  version_ = version;
  if (is_pinned) {
    pinned_ = new_room_();
    pinned_->version = version;
  }
  return lock;
}

void MovingAverage::Take(uint64_t begin, std::span<const float> block) {
  const std::span<float> part = std::span(values_).subspan(begin / sizeof(float), block.size());
  if (updates_ == 0) {
    std::ranges::copy(block, part.begin());
  } else {
    Lerp(block, share_, part);
  }
  if (pinned_ == nullptr) return;
  std::ranges::copy(part, View<float>(pinned_->bytes(), begin, begin + 4 * block.size()).begin());
}

void MovingAverage::End(std::span<const std::byte> published) {
  ++updates_;
  if (pinned_ != nullptr) CopyBuffers(published, *pinned_);
  // Given up after the lock is released: the last holder hands the bytes back.
  std::vector<Kept> given_up;
  std::lock_guard lock(kept_mutex_);
  for (auto it = kept_.begin(); it != kept_.end();) {
    if (it->second.is_pinned) {
      ++it;
      continue;
    }
    given_up.push_back(std::move(it->second));
    it = kept_.erase(it);
  }
  if (pinned_ != nullptr) kept_[version_] = {std::exchange(pinned_, nullptr), true};
}

void MovingAverage::Unpin(Version version) {
  Kept given_up;
  std::lock_guard lock(kept_mutex_);
  const auto found = kept_.find(version);
  if (found == kept_.end() || !found->second.is_pinned) return;
  given_up = std::move(found->second);
  kept_.erase(found);
}

StatusOr<std::shared_ptr<const Published>> MovingAverage::Of(const Published& version) {
  if (auto kept = Find(version.version)) return kept;
  std::lock_guard lock(values_mutex_);
  if (auto kept = Find(version.version)) return kept;  // Another reader has made it meanwhile.
  if (version_ != version.version) {
    return NotFound("average of the version is superseded: got {}, newest {}", version.version,
                    version_);
  }
  const std::shared_ptr<Published> made = new_room_();
  made->version = version_;
  std::ranges::copy(values_, View<float>(made->bytes(), 0, parts_.parameters_end).begin());
  CopyBuffers(version.bytes(), *made);
  std::lock_guard kept_lock(kept_mutex_);
  kept_[version_] = {made, false};
  return made;
}

std::shared_ptr<const Published> MovingAverage::Find(Version version) const {
  std::lock_guard lock(kept_mutex_);
  const auto found = kept_.find(version);
  return found == kept_.end() ? nullptr : found->second.published;
}

void MovingAverage::CopyBuffers(std::span<const std::byte> from, Published& to) const {
  std::ranges::copy(from.subspan(parts_.parameters_end),
                    to.bytes().subspan(parts_.parameters_end).begin());
}

}  // namespace paceline::store
