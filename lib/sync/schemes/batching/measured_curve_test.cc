#include "lib/sync/schemes/batching/measured_curve.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using testing::Chance;
using ::testing::SizeIs;

double Knee(double x) { return 0.01 * std::max(x, 100.0); }

MeasuredCurve Measured(std::initializer_list<uint32_t> sizes) {
  MeasuredCurve curve;
  for (const uint32_t samples : sizes) curve.Add(samples, Knee(samples), 4);
  return curve;
}

TEST(MeasuredCurve, KnowsNothingAtFirst) {
  const MeasuredCurve curve;
  EXPECT_FALSE(curve.is_known());
  EXPECT_FALSE(curve.IsFlatAt(2));
}

TEST(MeasuredCurve, FitsWhatItWasGivenInAnyOrder) {
  const TimeCurve fit = Measured({300, 50, 200, 80}).Fit();
  EXPECT_NEAR(fit.saturation, 100, 1e-6);
  EXPECT_NEAR(fit.base, 1, 1e-9);
}

TEST(MeasuredCurve, NearSizesAreOneAndTheirNumberIsBounded) {
  MeasuredCurve curve;
  for (uint32_t samples = 100; samples < 105; ++samples) curve.Add(samples, 1, 4);
  EXPECT_THAT(curve.sizes(), SizeIs(1));
  Chance chance(2);
  for (int i = 0; i < 1000; ++i) {
    const auto samples = static_cast<uint32_t>(1 + chance.Below(100'000));
    curve.Add(samples, Knee(samples), 4);
    ASSERT_LE(curve.sizes().size(), MeasuredCurve::kSizesMax);
    ASSERT_TRUE(std::is_sorted(curve.sizes().begin(), curve.sizes().end(),
                               [](const auto& a, const auto& b) { return a.samples < b.samples; }));
  }
  EXPECT_NEAR(curve.Fit().per_sample, 0.01, 1e-6);
}

TEST(MeasuredCurve, TheNewestSizeIsNeverTheOneGivenUp) {
  MeasuredCurve curve;
  uint32_t samples = 10;
  for (size_t i = 0; i < 3 * MeasuredCurve::kSizesMax; ++i, samples += samples / 8) {
    curve.Add(samples, 0.01 * samples, 1);
    ASSERT_EQ(curve.sizes().back().samples, samples);
  }
}

// Another device, or a neighbour that has come: more samples in less time, or a sample in more.
TEST(MeasuredCurve, WhatNoDeviceShowsBesideTheRestEndsTheRest) {
  for (const auto& [samples, seconds] :
       {std::pair<uint32_t, double>{200, 4}, {200, 0.7}, {400, 1}, {50, 2}, {20, 0.1}}) {
    MeasuredCurve curve = Measured({50, 100, 200, 300});
    curve.Add(samples, seconds, 4);
    EXPECT_THAT(curve.sizes(), SizeIs(1)) << samples << ' ' << seconds;
    EXPECT_NEAR(curve.Fit()(samples), seconds, 1e-9);
  }
}

TEST(MeasuredCurve, NoiseEndsNothing) {
  Chance chance(8);
  MeasuredCurve curve;
  const std::vector<uint32_t> sizes = {40, 80, 160, 320};
  for (int i = 0; i < 500; ++i) {
    const uint32_t samples = sizes[chance.Below(sizes.size())];
    curve.Add(samples, Knee(samples) * (1 + 0.05 * chance.Normal()), 4);
    ASSERT_TRUE(i < 50 || curve.sizes().size() == sizes.size()) << i;
  }
  EXPECT_NEAR(curve.Fit().saturation, 100, 15);
}

TEST(MeasuredCurve, TheNewestMeasurementGivesTheLevel) {
  const TimeCurve fit = Measured({50, 80, 200, 300}).FitThrough(200, 2.2);
  EXPECT_NEAR(fit(200), 2.2, 1e-9);
  EXPECT_NEAR(fit(400), 4.4, 1e-9);
  EXPECT_NEAR(fit.saturation, 100, 1e-6);
}

TEST(MeasuredCurve, AFlatPartIsBelievedOfSizesFarApart) {
  const MeasuredCurve curve = Measured({40, 80, 200, 300});
  EXPECT_TRUE(curve.IsFlatAt(90));
  EXPECT_FALSE(curve.IsFlatAt(150));
  EXPECT_FALSE(Measured({60, 80}).IsFlatAt(80)) << "a little noise would make a flat part, too";
  EXPECT_FALSE(Measured({90}).IsFlatAt(90));
  EXPECT_FALSE(Measured({110, 400}).IsFlatAt(110)) << "a line so far";
}

}  // namespace
}  // namespace paceline::sync
