// Defines Mixed: a mean in which newer measurements count more.
#pragma once

namespace paceline::sync {

inline constexpr double kNewestShare = 0.2;

// `mean`, of those before, 0 if there are none, with the newest one: a fifth of it.
inline double Mixed(double mean, double newest) {
  return mean == 0 ? newest : mean + kNewestShare * (newest - mean);
}

}  // namespace paceline::sync
