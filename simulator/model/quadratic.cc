#include "simulator/model/quadratic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paceline::simulator {

Quadratic::Quadratic(QuadraticModel model) : model_(model) {
  for (uint32_t i = 1; i <= model_.dimensions; ++i) {
    curvature_.push_back(1.0 / i);
    root_.push_back(std::sqrt(curvature_.back()));
  }
}

Values Quadratic::Start() const {
  const double sum = std::accumulate(curvature_.begin(), curvature_.end(), 0.0);
  return Values(model_.dimensions, std::sqrt(2 * model_.start_loss / sum));
}

double Quadratic::Loss(const Values& at) {
  double sum = 0;
  for (size_t i = 0; i < at.size(); ++i) sum += curvature_[i] * at[i] * at[i];
  return model_.irreducible + sum / 2;
}

double Quadratic::Gradient(const Values& at, std::span<const EpochRange> samples,
                           RandomStream& chance, Values& gradient) {
  uint64_t count = 0;
  for (const EpochRange& range : samples) count += range.end - range.begin;
  return Gradient(at, count, chance, gradient);
}

double Quadratic::Gradient(const Values& at, uint64_t samples, RandomStream& chance,
                           Values& gradient) {
  const double loss = Loss(at);
  const double scale = std::sqrt((model_.noise + 2 * (loss - model_.irreducible)) /
                                 static_cast<double>(std::max<uint64_t>(samples, 1)));
  gradient.resize(at.size());
  for (size_t i = 0; i < at.size(); ++i)
    gradient[i] = curvature_[i] * at[i] + scale * root_[i] * chance.Normal();
  return loss;
}

void MomentumStep::Apply(const Values& gradient, double rate, Values& values) {
  velocity_.resize(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) {
    velocity_[i] = momentum_ * velocity_[i] + gradient[i];
    values[i] -= rate * (is_nesterov_ ? gradient[i] + momentum_ * velocity_[i] : velocity_[i]);
  }
}

double SquaredNorm(const Values& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

}  // namespace paceline::simulator
