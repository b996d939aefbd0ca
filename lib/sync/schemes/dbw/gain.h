// Defines GainEstimator: how much a step is expected to lower the loss.
//
// By smoothness of the loss F and unbiased gradients, a step w - eta g of the mean gradient g over
// B samples lowers F by at least
//   G = (eta - L eta^2 / 2) N - (L eta^2 / 2) s2 / B                                         (1)
// in expectation: N = ||grad F||^2, s2 the trace of the covariance of one sample's gradient, L the
// smoothness constant (Xu, Neglia, Sebastianelli 2020). Estimated from scalars of each step:
//   s2 = (sum_i B_i ||g_i||^2 - B ||g||^2) / (k - 1),  k >= 2 pushes                         (2')
//   N  = mean(||g||^2 - s2 / B), at least 0                                                  (3)
//   L  = mean of 2 (F_t - F_{t-1} + eta N) / (eta^2 (N + s2 / B)), of the step before        (4)
// each over the last D steps. With equal batches s2 / B is V / k, V the variance of one push. With
// momentum, eta is the rate times its reach (momentum_reach.h). Where g is clipped to a norm C, the
// step is -eta c g, c = min(1, C / ||g||): so eta c is the rate in (4), and in (1), with N + s2 / B
// for the ||g||^2 of a step to come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/sync/schemes/dbw/momentum_reach.h"
#include "lib/sync/schemes/dbw/window_mean.h"

namespace paceline::sync {

class GainEstimator {
 public:
  explicit GainEstimator(uint32_t window, double momentum = 0);

  // The pushes of a step that is being taken, one by one.
  void BeginStep() { step_ = Step{}; }
  void AddPush(uint32_t samples, double squared_norm, double loss);
  // Their mean, times `clip_scale`, was applied with this rate.
  void Applied(double learning_rate, double squared_norm, double clip_scale = 1);

  bool is_known() const { return !variances_.is_empty() && last_.has_value(); }

  // By (1), of a step over `samples` at `learning_rate`.
  double Gain(double learning_rate, double samples) const;

  double squared_gradient() const;                              // N.
  double sample_variance() const { return variances_.Mean(); }  // s2.
  double smoothness() const;                                    // L.
  double momentum_reach() const { return reach_.Factor(squared_gradient()); }
  double loss() const { return last_ ? last_->loss : 0; }  // F at the newest version but one.
  // Whether the loss of the last step is more than `beta` times that of the one before, or 1 + 2 c
  // times if that is more: c, the noise of a step's loss as a share of it, is learnt from how much
  // the losses of its pushes differ.
  bool LossRose(double beta) const;
  uint32_t steps_since_variance() const { return steps_since_variance_; }

  // Text as of FieldWriter; Restore takes what Save gave.
  std::string Save() const;
  Status Restore(std::string_view line);

 private:
  struct Step {
    uint32_t pushes = 0;
    double samples = 0;
    double loss = 0;            // Sum over samples...
    double norms = 0;           // ...and of samples x squared norm...
    double losses_squared = 0;  // ...and of samples x squared loss.
  };
  // Of the last step, with the estimates as they were when it was applied.
  struct Last {
    double loss = 0;
    double learning_rate = 0;  // Clipped, with its reach.
    double samples = 0;
    double squared_gradient = 0;
    double sample_variance = 0;
  };

  void LearnSmoothness(double loss);
  void LearnClipNorm(double squared_norm, double clip_scale);
  double ClipScale(double samples) const;
  double LossNoise() const;  // c.
  double Share() const;

  size_t window_;
  Step step_;
  std::optional<Last> last_;
  double loss_before_ = 0;     // Of the step before the last one; 0 if there is none.
  WindowMean variances_;       // s2.
  WindowMean loss_variances_;  // Of one sample's loss, likewise.
  std::deque<std::pair<double, double>> norms_;  // ||g||^2 and 1 / B.
  WindowMean smoothness_;                        // L, unclipped.
  MomentumReach reach_;
  double clip_norm_ = 0;  // C; 0: nothing is clipped.
  uint32_t steps_since_variance_ = 0;
};

}  // namespace paceline::sync
