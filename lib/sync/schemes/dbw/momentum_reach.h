// Defines MomentumReach: how far a gradient works through momentum, and how smooth the loss is
// then.
//
// Momentum mu adds up to 1 / (1 - mu) times a gradient that keeps its direction, and about once one
// that turns with every step, as gradients do where the loss is curved most. Taking 1 / (1 - mu)
// for all of it promises many times the decrease that is seen: L ends at its upper bound, and few
// pushes seem worth nothing. The reach taken here is the one with which the decrease of the loss
// that is seen is the most that any rate could have given, whose first-order part is twice that:
//   reach = 2 D / N, kept within 1 and 1 / (1 - mu),
// D the decrease of the loss a step, over eta: the slope of a line by least squares through the
// last losses over the sum of rates so far, so that a warm-up of the rate does not matter. It takes
// the rate for one that somebody has chosen well. L follows from (1) of gain.h read as an equality:
//   L = 2 (N - D / reach) / (eta reach (N + s2 / B)).
// Why: docs/adr/0015.
#pragma once

#include <cstddef>

#include "lib/sync/schemes/dbw/window_mean.h"

namespace paceline::sync {

class MomentumReach {
 public:
  MomentumReach(size_t window, double momentum)
      : momentum_(momentum), losses_(window), rates_(window) {}

  // Of a step: the loss before it, and its rate.
  void Add(double loss, double learning_rate);

  // Whether there is momentum, and enough is known to say something of it.
  bool is_known() const;
  // N and the noise s2 / B are means of the same steps. 1 and 0 while nothing is known.
  double Factor(double squared_gradient) const;
  double Smoothness(double squared_gradient, double noise) const;

  const WindowMean& losses() const { return losses_; }
  const WindowMean& rates() const { return rates_; }

 private:
  double DecreasePerRate() const;  // D.

  double momentum_;
  WindowMean losses_;
  WindowMean rates_;
};

}  // namespace paceline::sync
