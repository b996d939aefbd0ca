// Defines Mixed: a mean in which newer measurements count more.
#pragma once

namespace paceline::sync {

// `mean`, of those before, 0 if there are none, with the newest one: a fifth of it.
inline double Mixed(double mean, double newest) {
  constexpr double kNewestShare = 0.2;
  return mean == 0 ? newest : mean + kNewestShare * (newest - mean);
}

}  // namespace paceline::sync
