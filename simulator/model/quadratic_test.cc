#include "simulator/model/quadratic.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

TEST(Quadratic, BeginsWhereItIsSaid) {
  Quadratic objective({.dimensions = 5, .start_loss = 3, .irreducible = 0.5});
  EXPECT_NEAR(objective.Loss(objective.Start()), 3.5, 1e-12);
  EXPECT_DOUBLE_EQ(objective.Loss(Values(5, 0.0)), 0.5);
}

// Mean and covariance as the header has them.
TEST(Quadratic, GradientsAreOfTheMeanAndCovarianceThatIsSaid) {
  Quadratic objective({.dimensions = 3, .start_loss = 2, .irreducible = 5, .noise = 0.4});
  const Values at = objective.Start();
  RandomStream chance(1, "gradient");
  constexpr int kDraws = 100'000;
  constexpr uint32_t kSamples = 4;
  Values gradient, mean(3), square(3);
  for (int i = 0; i < kDraws; ++i) {
    objective.Gradient(at, kSamples, chance, gradient);
    for (size_t j = 0; j < 3; ++j) {
      mean[j] += gradient[j] / kDraws;
      square[j] += gradient[j] * gradient[j] / kDraws;
    }
  }
  for (size_t j = 0; j < 3; ++j) {
    const double curvature = 1.0 / static_cast<double>(j + 1);
    EXPECT_NEAR(mean[j], curvature * at[j], 0.02);
    EXPECT_NEAR(square[j] - mean[j] * mean[j], (0.4 + 2 * 2) * curvature / kSamples, 0.03);
  }
}

TEST(Quadratic, StepsAsMomentumSays) {
  MomentumStep step(0.5);
  Values values = {1, 2};
  step.Apply({1, -1}, 0.1, values);
  EXPECT_NEAR(values[0], 0.9, 1e-15);
  EXPECT_NEAR(values[1], 2.1, 1e-15);
  step.Apply({1, 1}, 0.1, values);  // v = 1.5 and 0.5.
  EXPECT_NEAR(values[0], 0.75, 1e-15);
  EXPECT_NEAR(values[1], 2.05, 1e-15);
}

TEST(Quadratic, FailsBeyondItsEdgeAndNotBefore) {
  const auto end = [](double rate) {
    Quadratic objective({.dimensions = 8, .start_loss = 1, .noise = 0});
    Values at = objective.Start(), gradient;
    RandomStream chance(1, "gradient");
    MomentumStep step(0);
    for (int i = 0; i < 200; ++i) {
      objective.Gradient(at, 1'000'000, chance, gradient);
      step.Apply(gradient, rate, at);
    }
    return objective.Loss(at);
  };
  EXPECT_LT(end(1.9), 1e-3);
  EXPECT_GT(end(2.1), 1e3);
}

}  // namespace
}  // namespace paceline::simulator
