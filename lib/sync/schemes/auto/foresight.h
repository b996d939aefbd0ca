// Defines Foresight: how far to believe what a barrier on the first pushes promises.
//
// How long such a round takes is worked out from each worker's last steps. Where workers change
// faster than their times are learnt, whom it waits for is another one each time, and rounds take
// longer than was thought.
#pragma once

#include <algorithm>

#include "lib/sync/schemes/estimates/forgetting_mean.h"

namespace paceline::sync {

class Foresight {
 public:
  // A round of the first pushes took `seconds`, where `expected` were thought.
  void Add(double seconds, double expected) {
    taken_.Add(seconds, kNewest);
    expected_.Add(expected, kNewest);
  }

  // A sweep without a barrier: what was seen before says less and less.
  void Fade() {
    const double middle = (taken_.sum + expected_.sum) / 2;
    taken_.sum += kFade * (middle - taken_.sum);
    expected_.sum += kFade * (middle - expected_.sum);
  }

  // Of what is promised, at most 1.
  double Share() const {
    return taken_.sum > 0 ? std::clamp(expected_.sum / taken_.sum, kLeast, 1.0) : 1;
  }

 private:
  static constexpr double kNewest = 0.05;
  static constexpr double kFade = 0.01;
  static constexpr double kLeast = 0.75;

  ForgettingMean taken_;
  ForgettingMean expected_;
};

}  // namespace paceline::sync
