#include "lib/sync/schemes/modulation/pace.h"

#include <algorithm>

namespace paceline::sync {

void Pace::Join(WorkerId worker) { counts_[worker] = Counts{}; }

void Pace::Leave(WorkerId worker) {
  if (counts_.erase(worker) > 0) FindMost();
}

void Pace::Step(WorkerId worker) {
  const auto found = counts_.find(worker);
  if (found == counts_.end()) return;
  Counts& own = found->second;
  ++own.now;
  most_ = std::max(most_, own.before + own.now);
  if (++steps_ < kStepsAWorker * counts_.size()) return;
  steps_ = 0;
  for (auto& [id, counts] : counts_) {
    // The window that somebody joined in was not a whole one.
    counts = {.before = counts.now, .now = 0, .windows = std::min(counts.windows + 1, 2u)};
  }
  FindMost();
}

void Pace::FindMost() {
  most_ = 0;
  for (const auto& [id, counts] : counts_) most_ = std::max(most_, counts.before + counts.now);
}

double Pace::Of(WorkerId worker) const {
  const auto found = counts_.find(worker);
  if (found == counts_.end() || found->second.windows < 2) return 1;
  if (most_ == 0) return 1;
  return static_cast<double>(found->second.before + found->second.now) / static_cast<double>(most_);
}

}  // namespace paceline::sync
