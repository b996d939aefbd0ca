#include "lib/sync/schemes/batching/limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::sync {

void BatchLimits::Learn(WorkerId worker, uint32_t samples_fit) {
  const uint32_t fits = std::max<uint32_t>(1, samples_fit);
  const auto [known, is_new] = fits_.emplace(worker, fits);
  if (!is_new) known->second = std::min(known->second, fits);
}

BatchLimits::Fit BatchLimits::For(const std::vector<WorkerId>& workers) const {
  Fit fit;
  fit.bounds.reserve(workers.size());
  for (const WorkerId worker : workers) {
    Bounds bounds = all_;
    if (const auto known = fits_.find(worker); known != fits_.end()) {
      bounds.hi = std::min(bounds.hi, known->second);
      bounds.lo = std::min(bounds.lo, bounds.hi);
    }
    fit.bounds.push_back(bounds);
  }
  fit.total = workers.empty() ? 0 : FitTotal(total_, fit.bounds);
  return fit;
}

double BatchLimits::LearningRateScale(uint64_t total) const {
  return total > 0 && total < total_ ? static_cast<double>(total) / total_ : 1;
}

std::string BatchLimits::DebugString() const {
  std::string text;
  for (const auto& [worker, fits] : fits_) text += fmt::format(" {}<={}", worker, fits);
  return text;
}

}  // namespace paceline::sync
