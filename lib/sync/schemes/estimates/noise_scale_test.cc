#include "lib/sync/schemes/estimates/noise_scale.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/schemes/estimates/testing.h"

namespace paceline::sync {
namespace {

using ::testing::DoubleNear;
using testing::NoiseOf;
using ::testing::Pointwise;

std::vector<double> Gains(const NoiseScale& noise) {
  std::vector<double> gains;
  for (uint32_t k = 1; k <= 8; ++k) gains.push_back(noise.Gain(k, 8));
  return gains;
}

TEST(NoiseScaleTest, SeparatesGradientAndNoise) {
  NoiseScale noise(32);
  noise.AddPush(16, 3);
  noise.AddPush(16, 3);
  noise.Close(0.02);
  EXPECT_FALSE(noise.is_known());
  noise.Applied(2);
  EXPECT_TRUE(noise.is_known());
  EXPECT_DOUBLE_EQ(noise.squared_gradient(), 1);
  EXPECT_DOUBLE_EQ(noise.variance(), 1);
}

TEST(NoiseScaleTest, GainsAreThoseOfTheFormula) {
  const auto is = [](const std::vector<double>& gains) {
    return Pointwise(DoubleNear(6e-5), gains);
  };
  EXPECT_THAT(Gains(NoiseOf(1, 0)), is({.5, .5, .5, .5, .5, .5, .5, .5}));
  EXPECT_THAT(Gains(NoiseOf(1, 1)), is({0, 0, .08333, .25, .35, .41667, .46429, .5}));
  EXPECT_THAT(Gains(NoiseOf(0, 1)), is({0, 0, 0, 0, .2, .33333, .42857, .5}));
  EXPECT_THAT(Gains(NoiseOf(1, 4)), is({0, 0, 0, .1, .26, .36667, .44286, .5}));
}

// A gradient without noise costs less than half; what there is only noise of, at most u / 2.
TEST(NoiseScaleTest, APriceOfTheGradientAloneIsTheLesserOne) {
  const auto gains = [](double squared_gradient, double variance) {
    NoiseScale noise({.of_all = .7, .of_gradient = .25});
    for (int push = 0; push < 2; ++push) noise.AddPush(4, squared_gradient + 2 * variance);
    noise.Close(1);
    noise.Applied(squared_gradient + variance);
    std::vector<double> found;
    for (uint32_t k = 1; k <= 8; ++k) found.push_back(noise.Gain(k, 8, 1));
    return found;
  };
  const auto is = [](const std::vector<double>& gains) {
    return Pointwise(DoubleNear(6e-5), gains);
  };
  EXPECT_THAT(gains(1, 0), is({.875, .875, .875, .875, .875, .875, .875, .875}));
  EXPECT_THAT(gains(1, 1), is({0, .375, .54167, .625, .675, .70833, .73214, .75}));
  EXPECT_THAT(gains(0, 1), is({0, 0, .0667, .3, .44, .5333, .6, .65}));
  EXPECT_THAT(gains(1, 4), is({0, 0, .1833, .37, .482, .5567, .61, .65}));
}

// Of a step's samples, whoever computes them, and of another rate.
TEST(NoiseScaleTest, GainsBySamplesAreThoseOfTheFormula) {
  const NoiseScale noise = NoiseOf(1, 4);  // s2 = 32.
  EXPECT_DOUBLE_EQ(noise.Gain(8, 8, 1), .5);
  EXPECT_DOUBLE_EQ(noise.Gain(5, 8, 1), noise.Gain(5u, 8u));
  EXPECT_DOUBLE_EQ(noise.Gain(4, 16, 1), 0);                        // (1 + 8) / (1 + 2) = 3.
  EXPECT_DOUBLE_EQ(noise.Gain(8, 16, .5), .5 * (1 - .25 * 5 / 3));  // (1 + 4) / (1 + 2).
  EXPECT_DOUBLE_EQ(noise.sample_variance(), 32);
}

TEST(NoiseScaleTest, StepsOfFewAreAsLongAsThoseOfAll) {
  const NoiseScale noise = NoiseOf(1, 4);
  EXPECT_DOUBLE_EQ(noise.LengthScale(1), 1);
  EXPECT_DOUBLE_EQ(noise.LengthScale(0.25), std::sqrt(5.0 / 17));
  EXPECT_DOUBLE_EQ(noise.LengthScale(2), 1) << "more than a batch is no reason for a longer one";
  EXPECT_DOUBLE_EQ(NoiseOf(0, 1).LengthScale(0.25), 0.5);
  EXPECT_DOUBLE_EQ(NoiseOf(1, 0).LengthScale(0.25), 1);
  EXPECT_DOUBLE_EQ(NoiseScale(8).LengthScale(0.25), 1) << "where nothing is known";
}

TEST(NoiseScaleTest, WithoutAnythingKnownNoiseIsNone) {
  EXPECT_DOUBLE_EQ(NoiseScale(8).Gain(1, 8), .5);
}

// What was committed is published later, and pushes of the next round come before.
TEST(NoiseScaleTest, TakesARoundAsItWasWhenItClosed) {
  NoiseScale noise(32);
  noise.AddPush(16, 3);
  noise.AddPush(16, 3);
  noise.Close(1);
  noise.AddPush(16, 100);
  noise.Applied(2);
  EXPECT_DOUBLE_EQ(noise.squared_gradient(), 1);
}

TEST(NoiseScaleTest, OnePushSaysNothingOfVariance) {
  NoiseScale noise = NoiseOf(1, 1);
  noise.AddPush(8, 2);
  noise.Close(0.5);
  noise.Applied(2);
  EXPECT_DOUBLE_EQ(noise.variance(), 1);
}

TEST(NoiseScaleTest, IsSavedAndRestored) {
  NoiseScale noise = NoiseOf(1, 4);
  NoiseScale restored(8);
  ASSERT_TRUE(restored.Restore(noise.Save()).ok());
  EXPECT_EQ(Gains(restored), Gains(noise));
  EXPECT_EQ(restored.Save(), noise.Save());
  for (const std::string bad : {"", "1,2,3", "1,1,1,1,1,x", "-1,1,1,1,1,1", "inf,1,1,1,1,1"})
    EXPECT_FALSE(restored.Restore(bad).ok()) << bad;
}

}  // namespace
}  // namespace paceline::sync
