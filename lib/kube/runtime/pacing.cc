#include "lib/kube/runtime/pacing.h"

#include <algorithm>

namespace paceline::kube {

Pacing::Pacing(Duration soon, Duration gap) : soon_(soon), gap_(gap) {}

Duration Pacing::DelayAt(const ObjectKey& key, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const auto found = looked_.find(key);
  if (found == looked_.end()) return soon_;
  return std::max<Duration>(soon_, found->second + gap_ - now);
}

void Pacing::Looked(const ObjectKey& key, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  looked_[key] = now;
  if (now - cleaned_ < gap_) return;
  cleaned_ = now;
  std::erase_if(looked_, [&](const auto& entry) { return now - entry.second >= gap_; });
}

size_t Pacing::size() const {
  const std::lock_guard lock(mutex_);
  return looked_.size();
}

}  // namespace paceline::kube
