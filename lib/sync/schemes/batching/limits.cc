#include "lib/sync/schemes/batching/limits.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/sync/schemes/batching/saved_sizing.h"
#include "lib/sync/trace/fields.h"

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

std::string BatchLimits::Save() const {
  std::string text;
  for (const auto& [worker, fits] : fits_)
    text += fmt::format("limit {} samples={}\n", worker, fits);
  return text;
}

Status BatchLimits::Restore(std::string_view saved) {
  while (!saved.empty()) {
    Fields fields(TakeLine(saved));
    if (!fields.Flag("limit")) fields.Fail("is no limit");
    const auto worker = fields.Next<WorkerId>("worker");
    const auto fits = fields.Require<uint32_t>("samples");
    if (fits == 0) fields.Fail("samples are none");
    if (const Status wrong = fields.Finish(); !wrong.ok())
      return DataLoss("saved batch sizing cannot be read: {}", Message(wrong));
    Learn(worker, fits);
  }
  return OkStatus();
}

std::string BatchLimits::DebugString() const {
  std::string text;
  for (const auto& [worker, fits] : fits_)
    text += fmt::format(" {}{}<={}", gone_.contains(worker) ? "gone " : "", worker, fits);
  return text;
}

}  // namespace paceline::sync
