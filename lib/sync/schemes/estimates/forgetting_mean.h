// Defines ForgettingMean: a mean in which newer values weigh more, without the bias of its start.
#pragma once

namespace paceline::sync {

struct ForgettingMean {
  double sum = 0;
  double weight = 0;  // 0: there was no value yet.

  void Add(double value, double newest_weight) {
    sum += newest_weight * (value - sum);
    weight += newest_weight * (1 - weight);
  }
  double Or(double unknown) const { return weight > 0 ? sum / weight : unknown; }
};

}  // namespace paceline::sync
