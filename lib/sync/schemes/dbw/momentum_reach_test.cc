#include "lib/sync/schemes/dbw/momentum_reach.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

// Losses that fall by `slope` for each unit that the rates add up to.
MomentumReach Falling(double momentum, double slope, const std::vector<double>& rates) {
  MomentumReach reach(20, momentum);
  double loss = 10;
  for (const double rate : rates) {
    reach.Add(loss, rate);
    loss -= slope * rate;
  }
  return reach;
}

TEST(MomentumReach, IsTwiceTheDecreaseOverTheSquaredGradient) {
  EXPECT_NEAR(Falling(0.9, 3, {0.1, 0.1, 0.1, 0.1}).Factor(2), 3, 1e-9);
}

TEST(MomentumReach, AWarmUpOfTheRateDoesNotMatter) {
  EXPECT_NEAR(Falling(0.9, 3, {0.01, 0.02, 0.04, 0.08}).Factor(2), 3, 1e-9);
}

TEST(MomentumReach, StaysBetweenOneAndAllThatMomentumAddsUpTo) {
  EXPECT_EQ(Falling(0.9, 0.1, {0.1, 0.1, 0.1}).Factor(2), 1);
  EXPECT_EQ(Falling(0.9, -3, {0.1, 0.1, 0.1}).Factor(2), 1);
  EXPECT_NEAR(Falling(0.9, 100, {0.1, 0.1, 0.1}).Factor(2), 10, 1e-9);
  EXPECT_EQ(Falling(0.9, 3, {0.1, 0.1, 0.1}).Factor(0), 1);
}

TEST(MomentumReach, IsOneWithoutMomentumAndBeforeThreeLosses) {
  EXPECT_EQ(Falling(0, 3, {0.1, 0.1, 0.1, 0.1}).Factor(2), 1);
  EXPECT_EQ(Falling(0.9, 3, {0.1, 0.1}).Factor(2), 1);
  EXPECT_FALSE(Falling(0.9, 3, {0.1, 0.1}).is_known());
}

// With r the rate times its reach, r = N / (L (N + s2 / B)) is the rate that lowers the loss most.
TEST(MomentumReach, TheRateIsTheBestOfItsSmoothness) {
  const double squared_gradient = 2, noise = 5, rate = 0.1;
  const MomentumReach reach = Falling(0.9, 3, {rate, rate, rate, rate});
  const double r = rate * reach.Factor(squared_gradient);
  const double smoothness = reach.Smoothness(squared_gradient, noise);
  EXPECT_NEAR(r, squared_gradient / (smoothness * (squared_gradient + noise)), 1e-9);
  // And (1) gives the decrease that was seen.
  const double gain =
      (r - smoothness * r * r / 2) * squared_gradient - smoothness * r * r / 2 * noise;
  EXPECT_NEAR(gain, 3 * rate, 1e-9);
}

TEST(MomentumReach, ALossThatStandsStillLeavesNoGain) {
  const double squared_gradient = 2, noise = 5, r = 0.1;
  const MomentumReach reach = Falling(0.9, 0, {r, r, r, r});
  const double half = reach.Smoothness(squared_gradient, noise) * r * r / 2;
  EXPECT_NEAR((r - half) * squared_gradient - half * noise, 0, 1e-9);
}

}  // namespace
}  // namespace paceline::sync
