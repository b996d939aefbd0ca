#include "lib/kube/runtime/backoff.h"

#include <algorithm>

namespace paceline::kube {

Backoff::Backoff(Duration min, Duration max)
    : min_(min), max_(max), random_(std::random_device{}()) {}

Duration Backoff::Next() {
  constexpr int kDoublingsMax = 30;
  const double factor = static_cast<double>(1 << std::min(steps_, kDoublingsMax));
  ++steps_;
  const double seconds = std::min(ToSeconds(min_) * factor, ToSeconds(max_));
  return Seconds(seconds * (0.5 + Chance()));
}

double Backoff::Chance() {
  constexpr double kRange =
      static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min()) + 1;
  return static_cast<double>(random_() - std::minstd_rand::min()) / kRange;
}

}  // namespace paceline::kube
