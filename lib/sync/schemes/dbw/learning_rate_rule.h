// Defines LearningRateFactor: which part of the schedule's rate a step of k of n workers takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/sync/schemes/dbw/options.h"

namespace paceline::sync {

// k and n at least 1.
inline double LearningRateFactor(const DbwOptions& options, uint32_t k, uint32_t n) {
  switch (options.rate_rule) {
    case RateRule::kConstant:
      return 1;
    case RateRule::kProportional:
      return std::min(1.0, double(k) / n);
    case RateRule::kTable:
      if (options.rates.empty()) return 1;
      return options.rates[std::min<size_t>(k, options.rates.size()) - 1];
  }
  return 1;
}

}  // namespace paceline::sync
