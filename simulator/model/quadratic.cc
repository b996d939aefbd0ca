#include "simulator/model/quadratic.h"

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

double Quadratic::Loss(const Values& at) const {
  double sum = 0;
  for (size_t i = 0; i < at.size(); ++i) sum += curvature_[i] * at[i] * at[i];
  return model_.irreducible + sum / 2;
}

void Quadratic::Gradient(const Values& at, uint32_t samples, RandomStream& chance,
                         Values& gradient) const {
  const double scale =
      std::sqrt((model_.noise + 2 * (Loss(at) - model_.irreducible)) / std::max(samples, 1u));
  gradient.resize(at.size());
  for (size_t i = 0; i < at.size(); ++i)
    gradient[i] = curvature_[i] * at[i] + scale * root_[i] * chance.Normal();
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
