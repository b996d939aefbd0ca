// Defines Quadratic: an objective whose gradients, noise and curvature are known, in the place of a
// model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/kernel/random_stream.h"
#include "simulator/model/objective.h"

namespace paceline::simulator {

// F(w) = irreducible + 1/2 sum_i lambda_i w_i^2, with lambda_i = 1/i for i = 1 .. dimensions.
// F(start) is irreducible + start_loss: all w_i are alike there. The mean gradient of b samples is
// lambda w + noise, of mean 0 and covariance (noise + 2 (F - irreducible)) diag(lambda) / b: what
// linear regression with Gaussian inputs has. SGD without momentum fails from a learning rate of 2
// on, with small batches earlier.
struct QuadraticModel {
  uint32_t dimensions = 16;
  double start_loss = 1;
  double irreducible = 0;
  double noise = 0.01;
};

class Quadratic final : public Objective {
 public:
  explicit Quadratic(QuadraticModel model);

  Values Start() const;
  Values Begin(uint64_t) override { return Start(); }
  double Loss(const Values& at) override;
  // Which samples they are does not matter, and the loss has no noise.
  double Gradient(const Values& at, std::span<const EpochRange> samples, RandomStream& chance,
                  Values& gradient) override;
  double Gradient(const Values& at, uint64_t samples, RandomStream& chance, Values& gradient);
  const Status& status() const override { return status_; }

 private:
  QuadraticModel model_;
  std::vector<double> curvature_, root_;  // Of it.
  const Status status_ = OkStatus();
};

// v = momentum v + g; w -= rate v, or by Nesterov w -= rate (g + momentum v).
class MomentumStep {
 public:
  explicit MomentumStep(double momentum, bool is_nesterov = false)
      : momentum_(momentum), is_nesterov_(is_nesterov) {}
  void Apply(const Values& gradient, double rate, Values& values);

 private:
  double momentum_;
  bool is_nesterov_;
  Values velocity_;
};

double SquaredNorm(const Values& values);

}  // namespace paceline::simulator
