// Defines OuterStep: how far, and with which momentum, the mean of local steps moves the model: SGD
// whose gradient is that mean with its sign turned (DiLoCo, Douillard et al. 2023). With a rate of
// 1 and no momentum it is added plainly.
#pragma once

namespace paceline {

struct OuterStep {
  double learning_rate = 0.7;  // Above 0.
  double momentum = 0.9;       // [0, 1)
  bool is_nesterov = true;     // Needs momentum.
  friend bool operator==(const OuterStep&, const OuterStep&) = default;
};

}  // namespace paceline
