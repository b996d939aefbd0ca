#include "lib/sync/schemes/batching/saved_sizing.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/sync/schemes/batching/measured_curve.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

using Numbers = std::vector<double>;

// As a MeasuredCurve may hold them.
std::optional<std::vector<TimedSize>> SizesOf(const Numbers& samples, const Numbers& seconds,
                                              const Numbers& weights) {
  const size_t count = samples.size();
  if (count > MeasuredCurve::kSizesMax || seconds.size() != count || weights.size() != count)
    return std::nullopt;
  const auto is_positive = [](double number) { return std::isfinite(number) && number > 0; };
  std::vector<TimedSize> sizes;
  for (size_t i = 0; i < count; ++i) {
    if (!is_positive(samples[i]) || !is_positive(seconds[i]) || !is_positive(weights[i]))
      return std::nullopt;
    if (i > 0 && samples[i] <= samples[i - 1]) return std::nullopt;
    sizes.push_back({.samples = samples[i], .seconds = seconds[i], .weight = weights[i]});
  }
  return sizes;
}

}  // namespace

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

StatusOr<SavedSizing> SortSaved(std::string_view saved) {
  SavedSizing sorted;
  while (!saved.empty()) {
    const std::string_view line = TakeLine(saved);
    const std::string_view head = line.substr(0, line.find(' '));
    std::string* const lines = head == "speed"   ? &sorted.speeds
                               : head == "curve" ? &sorted.curves
                               : head == "limit" ? &sorted.limits
                                                 : nullptr;
    if (lines == nullptr) return DataLoss("saved batch sizing cannot be read: {}", line);
    *lines += fmt::format("{}\n", line);
  }
  return sorted;
}

std::string WithLimitsOf(std::string_view saved, const std::function<bool(WorkerId)>& stays) {
  const StatusOr<SavedSizing> sorted = SortSaved(saved);
  if (!sorted.ok()) return "";
  std::string kept = sorted->speeds + sorted->curves;
  for (std::string_view limits = sorted->limits; !limits.empty();) {
    const std::string_view line = TakeLine(limits);
    Fields fields(line);
    fields.Flag("limit");
    if (stays(fields.Next<WorkerId>("worker"))) kept += fmt::format("{}\n", line);
  }
  return kept;
}

std::string FormatLearntCurve(WorkerId worker, const std::vector<TimedSize>& sizes) {
  Numbers samples, seconds, weights;
  for (const TimedSize& size : sizes) {
    samples.push_back(size.samples);
    seconds.push_back(size.seconds);
    weights.push_back(size.weight);
  }
  return fmt::format("curve {} samples={} seconds={} weights={}", worker, fmt::join(samples, ","),
                     fmt::join(seconds, ","), fmt::join(weights, ","));
}

StatusOr<LearntCurve> ParseLearntCurve(std::string_view line) {
  Fields fields(line);
  LearntCurve learnt;
  if (!fields.Flag("curve")) fields.Fail("is no learnt curve");
  learnt.worker = fields.Next<WorkerId>("worker");
  const auto samples = fields.Require<Numbers>("samples");
  const auto seconds = fields.Require<Numbers>("seconds");
  const auto weights = fields.Require<Numbers>("weights");
  if (auto sizes = SizesOf(samples, seconds, weights)) {
    learnt.sizes = *std::move(sizes);
  } else {
    fields.Fail("sizes are not valid");
  }
  if (const Status wrong = fields.Finish(); !wrong.ok())
    return DataLoss("saved batch sizing cannot be read: {}", Message(wrong));
  return learnt;
}

}  // namespace paceline::sync
