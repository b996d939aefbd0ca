// Defines NoiseScale: what a step of k pushes is worth, from how much gradients scatter.
//
// Of each commit with S samples in k >= 2 pushes, b_i samples and gradient g_i each, mean g:
//   s2 = max(0, (sum b_i ||g_i||^2 - S ||g||^2) / (k - 1))      the variance of one sample's
//   gradient N  = E ||g||^2 - E s2 E(1 / S), at least 0                  the squared norm of the
//   gradient V  = E s2 / B                                               its variance in a step of
//   all n
// with means that forget (E). The learning rate is taken for one that somebody chose well for the
// global batch B: a step of all n costs at most a share u / 2 of what its gradient promises to
// first order, and of a gradient without noise at most a share c / 2. Then a step of k costs as
// much more as its gradient is noisier:
//   G(k) = max(0, 1 - 1/2 min(u / (N + V), c / N) (N + V n / k))
// (McCandlish et al., An empirical model of large-batch training, 2018, has s2 and N; docs/adr/0063
// why not the published gain of DBW.)
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/sync/schemes/estimates/forgetting_mean.h"

namespace paceline::sync {

class NoiseScale {
 public:
  // What steps are taken to cost.
  struct Price {
    double of_all = 1;       // u.
    double of_gradient = 1;  // c. Not less than u: it changes nothing.
  };

  explicit NoiseScale(uint32_t global_batch_size) : global_batch_(global_batch_size) {}
  NoiseScale(uint32_t global_batch_size, const Price& price)
      : price_(price), global_batch_(global_batch_size) {}
  // For who asks by samples.
  explicit NoiseScale(const Price& price) : price_(price) {}

  // Of the open round: `squared_norm` is of its mean gradient.
  void AddPush(uint32_t samples, double squared_norm);
  // The round was committed, and weighs so much in the means...
  void Close(double newest_weight);
  // ...once the norm of its mean gradient is known.
  void Applied(double squared_norm);

  bool is_known() const { return norm_.weight > 0; }
  double squared_gradient() const;                            // N.
  double sample_variance() const { return variance_.Or(0); }  // s2.
  double variance() const;                                    // V.
  double Gain(uint32_t k, uint32_t n) const { return GainAt(1, k, n); }
  // The same at `rate` times the learning rate.
  double GainAt(double rate, uint32_t k, uint32_t n) const;
  // Of a step over `samples`, where one of all is over `samples_of_all`, at `rate` times the
  // learning rate that was chosen for that.
  double Gain(double samples, double samples_of_all, double rate) const;

  // What makes a step over such a share of the global batch as long, in the mean, as one over all
  // of it: sqrt((N + V) / (N + V / share)), in (0, 1].
  double LengthScale(double share) const;

  // As one word; Restore takes what Save gave.
  std::string Save() const;
  Status Restore(std::string_view saved);

 private:
  struct Round {
    uint32_t pushes = 0;
    double samples = 0;
    double norms = 0;  // Sum of samples x squared norm.
    double newest_weight = 0;
  };

  Price price_;
  uint32_t global_batch_ = 1;
  Round open_;
  std::deque<Round> closed_;  // Until they are published.
  ForgettingMean variance_;   // s2.
  ForgettingMean norm_;       // ||g||^2...
  ForgettingMean inverse_;    // ...and 1 / S.
};

}  // namespace paceline::sync
