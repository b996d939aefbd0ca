#include "lib/sync/schemes/batching/network.h"

#include <algorithm>
#include <cmath>

namespace paceline::sync {
namespace {

constexpr double kRate = 1e-2;
constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kEpsilon = 1e-8;

constexpr size_t kPerUnit = Network::kInputs + 2;
constexpr size_t kBias = Network::kInputs;
constexpr size_t kOut = Network::kInputs + 1;
constexpr size_t kOutBias = Network::kWeights - 1;

// SplitMix64 (Steele, Lea, Flood 2014), as a number in [-1, 1).
double NextUniform(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return static_cast<double>(mixed >> 11) * 0x1p-52 - 1;
}

}  // namespace

Network::Network(uint64_t seed) : weights_{} {
  const double in = 1 / std::sqrt(double{kInputs}), out = 1 / std::sqrt(double{kHidden});
  for (size_t unit = 0; unit < kHidden; ++unit) {
    double* const own = &weights_[unit * kPerUnit];
    for (size_t i = 0; i < kInputs; ++i) own[i] = in * NextUniform(seed);
    own[kOut] = out * NextUniform(seed);
  }
}

double Network::Forward(const Inputs& inputs, std::array<double, kHidden>& hidden) const {
  double output = weights_[kOutBias];
  for (size_t unit = 0; unit < kHidden; ++unit) {
    const double* const own = &weights_[unit * kPerUnit];
    double sum = own[kBias];
    for (size_t i = 0; i < kInputs; ++i) sum += own[i] * inputs[i];
    hidden[unit] = std::tanh(sum);
    output += own[kOut] * hidden[unit];
  }
  return output;
}

double Network::Predict(const Inputs& inputs) const {
  std::array<double, kHidden> hidden;
  return Forward(inputs, hidden);
}

void Network::Train(std::span<const Example> batch) {
  Weights gradient{};
  std::array<double, kHidden> hidden;
  for (const Example& example : batch) {
    const double error = Forward(example.inputs, hidden) - example.target;
    const double scale = 2 * error / static_cast<double>(batch.size());
    gradient[kOutBias] += scale;
    for (size_t unit = 0; unit < kHidden; ++unit) {
      double* const own = &gradient[unit * kPerUnit];
      const double slope =
          scale * weights_[unit * kPerUnit + kOut] * (1 - hidden[unit] * hidden[unit]);
      for (size_t i = 0; i < kInputs; ++i) own[i] += slope * example.inputs[i];
      own[kBias] += slope;
      own[kOut] += scale * hidden[unit];
    }
  }
  if (!std::all_of(gradient.begin(), gradient.end(), [](double g) { return std::isfinite(g); }))
    return;
  mean_decay_left_ *= kMeanDecay;
  square_decay_left_ *= kSquareDecay;
  for (size_t i = 0; i < kWeights; ++i) {
    mean_[i] = kMeanDecay * mean_[i] + (1 - kMeanDecay) * gradient[i];
    square_[i] = kSquareDecay * square_[i] + (1 - kSquareDecay) * gradient[i] * gradient[i];
    const double mean = mean_[i] / (1 - mean_decay_left_);
    const double square = square_[i] / (1 - square_decay_left_);
    weights_[i] -= kRate * mean / (std::sqrt(square) + kEpsilon);
  }
}

}  // namespace paceline::sync
