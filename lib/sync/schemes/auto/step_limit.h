// Defines StepLimit: how long a single step may be of a version that holds few of the pushes.
//
// At the edge of stability gradients are, now and then, several times as large as they were, and a
// step that is borne where all workers have a part in it is not where few have. So such a one is no
// longer than it would be with a gradient of the usual size: that of the last ten rounds or so,
// times a bound that rises with the share of the batch, and holds nobody up who waited for all.
// (Steps are clipped for the same reason elsewhere: Pascanu et al., On the difficulty of training
// recurrent neural networks, 2013; that curvature grows with the gradient's norm: Zhang et al., Why
// gradient clipping accelerates training, 2020.)
#pragma once

#include "lib/sync/schemes/estimates/forgetting_mean.h"

namespace paceline::sync {

class StepLimit {
 public:
  // What multiplies the learning rate, in (0, 1], of a version over such a share of the global
  // batch. `squared_norm` is that of its pushes' gradients, the mean over samples.
  double Scale(double share, double squared_norm) const;
  // Of a version of any share, after it was asked. What is not finite says nothing.
  void Add(double squared_norm);

 private:
  ForgettingMean usual_;  // Squared norm.
};

}  // namespace paceline::sync
