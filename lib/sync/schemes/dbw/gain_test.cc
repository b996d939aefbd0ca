#include "lib/sync/schemes/dbw/gain.h"

#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/testing/virtual_cluster.h"

namespace paceline::sync {
namespace {

using testing::Draws;
using Vector = std::vector<double>;

double SquaredNorm(const Vector& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return sum;
}

struct Push {
  uint32_t samples;
  Vector gradient;
};

// Mean gradients of batches of samples whose gradients are `mean` plus unit noise in each place.
std::vector<Push> DrawPushes(Draws& draws, const std::vector<uint32_t>& batches,
                             const Vector& mean) {
  std::vector<Push> pushes;
  for (const uint32_t batch : batches) {
    Push push{batch, mean};
    for (double& x : push.gradient) x += draws.Normal() / std::sqrt(batch);
    pushes.push_back(push);
  }
  return pushes;
}

Vector MeanOf(const std::vector<Push>& pushes) {
  Vector mean(pushes[0].gradient.size());
  double samples = 0;
  for (const Push& push : pushes) {
    samples += push.samples;
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += push.samples * push.gradient[i];
  }
  for (double& x : mean) x /= samples;
  return mean;
}

void Step(GainEstimator& gain, const std::vector<Push>& pushes, double rate, double loss = 1) {
  gain.BeginStep();
  for (const Push& push : pushes) gain.AddPush(push.samples, SquaredNorm(push.gradient), loss);
  gain.Applied(rate, SquaredNorm(MeanOf(pushes)));
}

TEST(GainEstimator, VarianceFromScalarsIsThatFromVectors) {
  Draws draws(1);
  for (const double length : {0.0, 1.0, 30.0}) {
    const std::vector<Push> pushes = DrawPushes(draws, {64, 64, 32, 200}, Vector(1000, length));
    const Vector mean = MeanOf(pushes);
    double spread = 0;  // (2), each push with the weight of its samples.
    for (const Push& push : pushes) {
      for (size_t i = 0; i < mean.size(); ++i) {
        const double apart = push.gradient[i] - mean[i];
        spread += push.samples * apart * apart;
      }
    }
    const double expected = spread / 3;
    GainEstimator gain(1);
    Step(gain, pushes, 0.1);
    EXPECT_NEAR(gain.sample_variance() / expected, 1, 1e-9) << length;
  }
}

TEST(GainEstimator, EstimatesAreUnbiasedWhateverTheBatches) {
  constexpr size_t kSize = 50;
  Draws draws(2);
  double variance = 0, square = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    GainEstimator gain(1);
    // A long gradient, so that clamping at 0 plays no part.
    Step(gain, DrawPushes(draws, {4, 16, 64}, Vector(kSize, 1)), 0.1);
    variance += gain.sample_variance() / kRounds;
    square += gain.squared_gradient() / kRounds;
  }
  EXPECT_NEAR(variance, kSize, 0.02 * kSize);
  EXPECT_NEAR(square, kSize, 0.01 * kSize);
}

TEST(GainEstimator, SmoothnessOfAQuadraticIsExactWithoutNoise) {
  constexpr double kSmoothness = 3, kRate = 0.2;
  Vector w = {1, -2, 0.5};
  GainEstimator gain(1);
  for (int step = 0; step < 4; ++step) {
    Vector gradient = w;
    for (double& x : gradient) x *= kSmoothness;
    Step(gain, {{8, gradient}, {8, gradient}}, kRate, kSmoothness / 2 * SquaredNorm(w));
    for (size_t i = 0; i < w.size(); ++i) w[i] -= kRate * gradient[i];
  }
  EXPECT_NEAR(gain.smoothness(), kSmoothness, 1e-9);
}

// What is applied is the clipped gradient: as if the rate had been smaller.
TEST(GainEstimator, SmoothnessOfAQuadraticIsExactWhereStepsAreClipped) {
  constexpr double kSmoothness = 3, kRate = 0.2, kClipNorm = 2;
  Vector w = {1, -2, 0.5};
  GainEstimator gain(1);
  for (int step = 0; step < 4; ++step) {
    Vector gradient = w;
    for (double& x : gradient) x *= kSmoothness;
    const double squared_norm = SquaredNorm(gradient);
    const double clip_scale = std::min(1.0, kClipNorm / std::sqrt(squared_norm));
    ASSERT_LT(clip_scale, 1);
    gain.BeginStep();
    const double loss = kSmoothness / 2 * SquaredNorm(w);
    for (int push = 0; push < 2; ++push) gain.AddPush(8, squared_norm, loss);
    gain.Applied(kRate, squared_norm, clip_scale);
    for (size_t i = 0; i < w.size(); ++i) w[i] -= kRate * clip_scale * gradient[i];
  }
  EXPECT_NEAR(gain.smoothness(), kSmoothness, 1e-9);
}

// With N = 4 and s2 / B = 4 / B, a step over B samples is clipped to 1 / sqrt(4 + 4 / B).
TEST(GainEstimator, GainIsThatOfAStepClippedAsItsNormWillBe) {
  GainEstimator gain(1);
  gain.BeginStep();
  for (int push = 0; push < 2; ++push) gain.AddPush(1, 8, 1);
  gain.Applied(0.1, 6, 1 / std::sqrt(6.0));
  ASSERT_NEAR(gain.sample_variance(), 4, 1e-9);
  ASSERT_NEAR(gain.squared_gradient(), 4, 1e-9);
  const double smoothness = gain.smoothness();
  for (const double samples : {1.0, 2.0, 50.0}) {
    const double square = 4 + 4 / samples, rate = 0.1 / std::sqrt(square);
    EXPECT_NEAR(gain.Gain(0.1, samples), rate * 4 - smoothness * rate * rate / 2 * square, 1e-12);
  }
  GainEstimator restored(1);
  ASSERT_TRUE(restored.Restore(gain.Save().substr(0, gain.Save().size() - 1)).ok());
  EXPECT_EQ(restored.Gain(0.1, 50), gain.Gain(0.1, 50));
  // A longer one that was not clipped: there is no such bound any more.
  gain.BeginStep();
  for (int push = 0; push < 2; ++push) gain.AddPush(1, 18, 1);
  gain.Applied(0.1, 16);
  const double half = gain.smoothness() * 0.01 / 2;
  EXPECT_NEAR(gain.Gain(0.1, 2),
              (0.1 - half) * gain.squared_gradient() - half * gain.sample_variance() / 2, 1e-12);
}

TEST(GainEstimator, SmoothnessIsKeptBetweenItsBounds) {
  GainEstimator rising(5), falling(5);
  for (int step = 0; step < 4; ++step) {
    Step(rising, {{1, {1}}, {1, {1}}}, 0.5, 1 + 100.0 * step);
    Step(falling, {{1, {1}}, {1, {1}}}, 0.5, 1000 - 100.0 * step);
  }
  EXPECT_EQ(rising.smoothness(), 2);  // 1 / rate.
  EXPECT_EQ(falling.smoothness(), 1e-6);
}

TEST(GainEstimator, GainIsConcaveAndSaturates) {
  Draws draws(3);
  GainEstimator gain(5);
  for (int step = 0; step < 5; ++step)
    Step(gain, DrawPushes(draws, {8, 8, 8, 8}, Vector(20, 0.5)), 0.1);
  double last_rise = INFINITY;
  for (int k = 1; k < 16; ++k) {
    const double rise = gain.Gain(0.1, 8.0 * (k + 1)) - gain.Gain(0.1, 8.0 * k);
    EXPECT_GT(rise, 0);
    EXPECT_LT(rise, last_rise);
    last_rise = rise;
  }
  const double most = (0.1 - gain.smoothness() * 0.01 / 2) * gain.squared_gradient();
  EXPECT_NEAR(gain.Gain(0.1, 1e12), most, 1e-9 * most);
}

TEST(GainEstimator, NoVarianceMakesTheGainConstantAndNoneTheLeast) {
  GainEstimator constant(3), none(3);
  for (int step = 0; step < 3; ++step) {
    Step(constant, {{4, {2}}, {4, {2}}}, 0.1);
    Step(none, {{4, {1}}, {4, {-1}}}, 0.1);
  }
  EXPECT_EQ(constant.sample_variance(), 0);
  EXPECT_EQ(constant.Gain(0.1, 1), constant.Gain(0.1, 1000));
  EXPECT_GT(constant.Gain(0.1, 1), 0);
  EXPECT_EQ(none.squared_gradient(), 0);
  EXPECT_LT(none.Gain(0.1, 1000), 0);
}

TEST(GainEstimator, OnePushSaysNothingOfVariance) {
  GainEstimator gain(3);
  Step(gain, {{4, {1}}}, 0.1);
  EXPECT_FALSE(gain.is_known());
  EXPECT_EQ(gain.steps_since_variance(), 1u);
  Step(gain, {{4, {1}}, {4, {3}}}, 0.1);
  EXPECT_TRUE(gain.is_known());
  EXPECT_EQ(gain.steps_since_variance(), 0u);
}

// Single precision cancels where the gradient is much longer than its noise.
TEST(GainEstimator, ANegativeVarianceIsNone) {
  GainEstimator gain(1);
  gain.BeginStep();
  gain.AddPush(1, 1, 1);
  gain.AddPush(1, 1, 1);
  gain.Applied(0.1, 1 + 1e-7);
  EXPECT_EQ(gain.sample_variance(), 0);
}

TEST(GainEstimator, LossRisesBeyondBetaOnly) {
  GainEstimator gain(3);
  const auto step = [&](double loss) { Step(gain, {{1, {1}}, {1, {1}}}, 0.1, loss); };
  step(1);
  EXPECT_FALSE(gain.LossRose(1.01));
  step(1.005);
  EXPECT_FALSE(gain.LossRose(1.01));
  step(1.1);
  EXPECT_TRUE(gain.LossRose(1.01));
}

TEST(GainEstimator, WhatIsNotFiniteIsPassedOver) {
  GainEstimator gain(3);
  Step(gain, {{1, {1}}, {1, {2}}}, 0.1);
  const std::string before = gain.Save();
  Step(gain, {{1, {NAN}}, {1, {1}}}, 0.1);
  Step(gain, {{1, {1}}, {1, {1}}}, 0.1, INFINITY);
  EXPECT_EQ(gain.Save(), before);
}

TEST(GainEstimator, ComesBackAsItWasSaved) {
  Draws draws(4);
  GainEstimator gain(4);
  for (int step = 0; step < 6; ++step)
    Step(gain, DrawPushes(draws, {8, 4}, Vector(3, 1)), 0.1, 2.0 / (step + 1));
  GainEstimator restored(4);
  const std::string saved = gain.Save();
  ASSERT_TRUE(restored.Restore(saved.substr(0, saved.size() - 1)).ok());
  EXPECT_EQ(restored.Save(), saved);
  EXPECT_EQ(restored.Gain(0.1, 12), gain.Gain(0.1, 12));
}

// Losses of two pushes of 50 samples that lie 2 d apart: a sample's variance is 100 d^2, that of
// the mean over 100 is d^2.
TEST(GainEstimator, NoisyLossesMustRiseMoreThanTheirNoise) {
  GainEstimator gain(5);
  const auto step = [&gain](double loss, double d) {
    gain.BeginStep();
    gain.AddPush(50, 1, loss - d);
    gain.AddPush(50, 1, loss + d);
    gain.Applied(0.1, 1);
  };
  step(1, 0.1);
  step(1.19, 0.1);
  EXPECT_FALSE(gain.LossRose(1.01));
  step(1.19 * 1.19, 0.1);  // c is 0.1 / 1.19 by now.
  EXPECT_TRUE(gain.LossRose(1.01));
  EXPECT_FALSE(gain.LossRose(1.2));
}

TEST(GainEstimator, ComesBackWithMomentumAsItWasSaved) {
  GainEstimator gain(5, 0.9);
  double loss = 3;
  for (const double rate : {0.1, 0.2, 0.2, 0.2}) {
    gain.BeginStep();
    gain.AddPush(10, 3, loss * 1.1);
    gain.AddPush(10, 2, loss * 0.9);
    gain.Applied(rate, 2);
    loss *= 0.8;
  }
  EXPECT_GT(gain.momentum_reach(), 1);
  GainEstimator back(5, 0.9);
  const std::string saved = gain.Save();
  ASSERT_TRUE(back.Restore(saved.substr(0, saved.size() - 1)).ok());
  EXPECT_EQ(back.Save(), saved);
  EXPECT_EQ(back.Gain(0.2, 15), gain.Gain(0.2, 15));
}

}  // namespace
}  // namespace paceline::sync
