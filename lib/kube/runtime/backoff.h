// Defines Backoff: longer and longer waits, spread by chance so that many clients do not come back
// together.
#pragma once

#include <random>

#include "lib/base/time.h"

namespace paceline::kube {

// One owner at a time.
class Backoff {
 public:
  // The first wait is about `min`; each next one twice as long, up to `max`.
  Backoff(Duration min, Duration max);

  Duration Next();
  void Reset() { steps_ = 0; }
  // Uniform in [0, 1).
  double Chance();

 private:
  Duration min_, max_;
  int steps_ = 0;
  std::minstd_rand random_;
};

}  // namespace paceline::kube
