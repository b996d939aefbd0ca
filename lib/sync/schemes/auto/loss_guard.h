// Defines LossGuard: whether training without a barrier does harm, as its loss shows.
//
// A sweep is as many samples as the global batch; its loss is that of the pushes that hold them.
// A tight guard fires where nothing is wrong, since the loss of one sweep is noisy; a loose one is
// there for divergence, and for nothing else (docs/schemes/auto.md).
#pragma once

#include <cstddef>
#include <deque>

#include "lib/sync/schemes/estimates/forgetting_mean.h"

namespace paceline::sync {

class LossGuard {
 public:
  // A sweep of the present mode ended.
  void EndSweep(double loss);
  // Training goes on without a barrier from now on, or with one.
  void BeginAsync();
  void BeginBarrier() { is_async_ = false; }

  // The last sweeps' loss is far above that before the barrier was left, or above what it was
  // since.
  bool IsTripped() const;

 private:
  bool is_async_ = false;
  std::deque<double> before_;  // With a barrier, the last ones.
  std::deque<double> since_;   // Without.
  ForgettingMean mean_;        // Of those without.
};

}  // namespace paceline::sync
