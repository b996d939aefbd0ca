// Defines Network: one hidden layer of tanh units with a linear output, trained with Adam.
//
// So small that a prediction is a few hundred multiplications: policies may always make one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::sync {

class Network {
 public:
  static constexpr size_t kInputs = 11;
  static constexpr size_t kHidden = 16;
  static constexpr size_t kWeights = kHidden * (kInputs + 2) + 1;
  using Inputs = std::array<double, kInputs>;
  // Of each hidden unit its inputs' weights, its bias, its weight in the output; the output's bias.
  using Weights = std::array<double, kWeights>;

  struct Example {
    Inputs inputs;
    double target = 0;
  };

  // Weights uniform in +-1/sqrt(fan in), the same for the same seed everywhere; biases 0.
  explicit Network(uint64_t seed);
  explicit Network(const Weights& weights) : weights_(weights) {}

  double Predict(const Inputs& inputs) const;

  // One Adam step on the mean squared error over `batch`, which is not empty. A step that would
  // leave a weight that is not finite is not made.
  void Train(std::span<const Example> batch);

  const Weights& weights() const { return weights_; }

 private:
  // Of `inputs`; fills the hidden units' values.
  double Forward(const Inputs& inputs, std::array<double, kHidden>& hidden) const;

  Weights weights_;
  Weights mean_{};              // Of gradients, decaying.
  Weights square_{};            // Of their squares.
  double mean_decay_left_ = 1;  // Powers of the decays, which correct the two in the beginning.
  double square_decay_left_ = 1;
};

}  // namespace paceline::sync
