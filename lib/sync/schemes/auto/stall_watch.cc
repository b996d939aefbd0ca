#include "lib/sync/schemes/auto/stall_watch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paceline::sync {
namespace {

constexpr double kFall = 0.05;     // Of the mean before.
constexpr uint64_t kSweeps = 30;   // Doubled each time...
constexpr uint32_t kDoubled = 10;  // ...so often at most.

}  // namespace

void StallWatch::EndSweep(double loss) {
  if (kept_.sweeps_left > 0) {
    --kept_.sweeps_left;
    return;
  }
  losses_.push_back(loss);
  if (losses_.size() > 2 * kWindow) losses_.pop_front();
  if (losses_.size() < 2 * kWindow || HasFallen()) return;
  kept_.sweeps_left = kSweeps << std::min(kept_.stalls++, kDoubled);
  losses_.clear();
}

// Losses may be negative.
bool StallWatch::HasFallen() const {
  const auto middle = losses_.begin() + kWindow;
  const double before = std::accumulate(losses_.begin(), middle, 0.0) / kWindow;
  const double now = std::accumulate(middle, losses_.end(), 0.0) / kWindow;
  return before - now > kFall * std::abs(before);
}

}  // namespace paceline::sync
