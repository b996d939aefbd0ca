// Defines the names of held-out numbers, and which way they get better.
#pragma once

#include <optional>
#include <string_view>

#include "lib/job/manifest/enums.h"

namespace paceline::job {

// Every other name is a metric of the model's or script's own.
inline constexpr std::string_view kAccuracyMetric = "Accuracy";
inline constexpr std::string_view kLossMetric = "Loss";

inline bool IsOwnMetric(std::string_view metric) {
  return metric != kAccuracyMetric && metric != kLossMetric;
}

// `said`: of the manifest.
inline Better BetterOf(std::string_view metric, const std::optional<Better>& said) {
  return said.value_or(metric == kLossMetric ? Better::kLower : Better::kHigher);
}

}  // namespace paceline::job
