#include "lib/sync/schemes/batching/measured_curve.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace paceline::sync {
namespace {

constexpr double kSameSize = 0.05;       // Sizes so near are one.
constexpr double kFade = 0.9;            // Of the weight, with each newer measurement...
constexpr double kWeightMin = 0.01;      // ...down to this: a shape is remembered for long.
constexpr double kContradiction = 0.25;  // Beyond what a device could show; twice the usual noise.

constexpr double kTellingSpan = 1.5;  // From the least size to the most.
constexpr double kAsLong = 0.02;      // What is shorter by less is as long.

// More samples never take less time, nor more time a sample (FitCurve).
bool Contradicts(const TimedSize& known, double samples, double seconds) {
  const double in_proportion = known.seconds * samples / known.samples;
  const auto [least, most] = std::minmax(known.seconds, in_proportion);
  return seconds < (1 - kContradiction) * least || seconds > (1 + kContradiction) * most;
}

}  // namespace

void MeasuredCurve::Add(uint32_t samples, double seconds, uint32_t steps) {
  const auto is_contradicted = [&](const TimedSize& known) {
    return Contradicts(known, samples, seconds);
  };
  if (std::any_of(sizes_.begin(), sizes_.end(), is_contradicted)) sizes_.clear();
  for (TimedSize& size : sizes_) size.weight = std::max(kWeightMin, kFade * size.weight);

  TimedSize added{.samples = double(samples), .seconds = seconds, .weight = double(steps)};
  const auto is_same = [&](const TimedSize& known) {
    return std::abs(known.samples - samples) <= kSameSize * known.samples;
  };
  if (const auto same = std::find_if(sizes_.begin(), sizes_.end(), is_same); same != sizes_.end()) {
    const double weight = same->weight + added.weight;
    added.samples += (same->samples - added.samples) * same->weight / weight;
    added.seconds += (same->seconds - added.seconds) * same->weight / weight;
    added.weight = weight;
    sizes_.erase(same);
  } else if (sizes_.size() == kSizesMax) {
    sizes_.erase(std::min_element(sizes_.begin(), sizes_.end(), [](const auto& a, const auto& b) {
      return a.weight < b.weight;
    }));
  }
  const auto at =
      std::upper_bound(sizes_.begin(), sizes_.end(), added,
                       [](const auto& a, const auto& b) { return a.samples < b.samples; });
  sizes_.insert(at, added);
}

TimeCurve MeasuredCurve::FitThrough(uint32_t samples, double seconds) const {
  TimeCurve curve = Fit();
  const double level = seconds / curve(samples);
  curve.base *= level;
  curve.per_sample *= level;
  return curve;
}

bool MeasuredCurve::IsFlatAt(uint32_t samples) const {
  if (!is_known() || sizes_.back().samples < kTellingSpan * sizes_.front().samples) return false;
  const TimeCurve curve = Fit();
  return curve(samples / 2) >= (1 - kAsLong) * curve(samples);
}

std::string MeasuredCurve::DebugString() const {
  std::string text;
  for (const TimedSize& size : sizes_)
    text += fmt::format(",{}:{}:{}", size.samples, size.seconds, size.weight);
  return text;
}

}  // namespace paceline::sync
