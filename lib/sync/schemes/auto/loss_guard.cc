#include "lib/sync/schemes/auto/loss_guard.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace paceline::sync {
namespace {

constexpr size_t kBefore = 9;
constexpr size_t kSince = 5;
constexpr double kAboveBefore = 0.3;  // Of itself.
constexpr double kAboveMean = 1.5;
constexpr double kNewest = 0.1;

double MedianOf(const std::deque<double>& losses) {
  std::vector<double> sorted(losses.begin(), losses.end());
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void Keep(std::deque<double>& losses, double loss, size_t most) {
  losses.push_back(loss);
  if (losses.size() > most) losses.pop_front();
}

// Losses may be negative.
bool IsAbove(double loss, double other, double share) {
  return loss - other > share * std::abs(other);
}

}  // namespace

void LossGuard::EndSweep(double loss) {
  if (!std::isfinite(loss)) loss = std::numeric_limits<double>::max();
  if (!is_async_) return Keep(before_, loss, kBefore);
  Keep(since_, loss, kSince);
  mean_.Add(loss, kNewest);
}

void LossGuard::BeginAsync() {
  is_async_ = true;
  since_.clear();
  mean_ = {};
}

bool LossGuard::IsTripped() const {
  if (!is_async_ || since_.size() < kSince) return false;
  const double now = MedianOf(since_);
  if (IsAbove(now, mean_.Or(now), kAboveMean)) return true;
  return !before_.empty() && IsAbove(now, MedianOf(before_), kAboveBefore);
}

}  // namespace paceline::sync
