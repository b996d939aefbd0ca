#include "lib/sync/schemes/batching/curve_fit.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using testing::Chance;

std::vector<TimedSize> Sizes(const std::vector<double>& samples, const auto& seconds) {
  std::vector<TimedSize> sizes;
  for (const double x : samples)
    sizes.push_back({.samples = x, .seconds = seconds(x), .weight = 4});
  return sizes;
}

// Powers of two, as batches are tried.
const std::vector<double> kPowers = {8, 16, 32, 64, 128, 256, 512, 1024};

// Seconds of a step of kPowers' samples, made by max(launch + fill / v, launch + x / v), v being
// the samples/s of schemes 2.3 (K520 429, K80 628, M60 917), launch and fill 0.05 s and 64, 0.1 s
// and 128, 0.1 s and 256; each off by up to 3 %, rounded to milliseconds.
struct Recorded {
  const char* device;
  double speed, launch, fill;
  std::vector<double> seconds;
};
const std::vector<Recorded> kRecorded = {
    {"K520", 429, 0.05, 64, {0.195, 0.203, 0.197, 0.200, 0.343, 0.661, 1.217, 2.462}},
    {"K80", 628, 0.10, 128, {0.299, 0.311, 0.300, 0.306, 0.308, 0.516, 0.906, 1.710}},
    {"M60", 917, 0.10, 256, {0.386, 0.369, 0.388, 0.377, 0.375, 0.383, 0.650, 1.231}},
};

TEST(FitCurve, FindsTheKneeOfRecordedTimes) {
  for (const Recorded& of : kRecorded) {
    std::vector<TimedSize> sizes;
    for (size_t i = 0; i < kPowers.size(); ++i) {
      ASSERT_NEAR(of.seconds[i] / (of.launch + std::max(of.fill, kPowers[i]) / of.speed), 1, 0.03);
      sizes.push_back({.samples = kPowers[i], .seconds = of.seconds[i], .weight = 4});
    }
    const TimeCurve fit = FitCurve(sizes);
    EXPECT_NEAR(fit.saturation / of.fill, 1, 0.1) << of.device;
    EXPECT_NEAR(fit.per_sample * of.speed, 1, 0.05) << of.device;
    EXPECT_NEAR(fit.base / (of.launch + of.fill / of.speed), 1, 0.02) << of.device;
  }
}

TEST(FitCurve, OneSizeMakesALineThroughNothing) {
  const TimeCurve fit = FitCurve({{{.samples = 50, .seconds = 2, .weight = 1}}});
  EXPECT_DOUBLE_EQ(fit(50), 2);
  EXPECT_DOUBLE_EQ(fit(100), 4);
}

TEST(FitCurve, TwoSizesMakeALineWithABase) {
  const TimeCurve fit = FitCurve(Sizes({100, 200}, [](double x) { return 0.3 + 0.002 * x; }));
  EXPECT_NEAR(fit.base, 0.3, 1e-12);
  EXPECT_NEAR(fit.per_sample, 0.002, 1e-12);
  EXPECT_EQ(fit.saturation, 0);
}

TEST(FitCurve, SizesTooNearToEachOtherTellNoBase) {
  const TimeCurve fit = FitCurve(Sizes({100, 108}, [](double x) { return 0.3 + 0.002 * x; }));
  EXPECT_EQ(fit.base, 0);
}

// What more samples take was never seen: at most what those at hand do, so that no device is
// thought to hold any batch in no time.
TEST(FitCurve, BeyondAFlatPartEachSampleTakesWhatItTookThere) {
  const TimeCurve fit = FitCurve(Sizes({20, 60, 100}, [](double) { return 1.5; }));
  EXPECT_DOUBLE_EQ(fit(20), 1.5);
  EXPECT_DOUBLE_EQ(fit(100), 1.5);
  EXPECT_DOUBLE_EQ(fit(200), 3);
}

TEST(FitCurve, TheKneeIsFoundBetweenSizes) {
  const auto device = [](double x) { return 0.2 + 0.004 * std::max(x, 150.0); };
  const TimeCurve fit = FitCurve(Sizes({50, 100, 200, 300}, device));
  EXPECT_NEAR(fit.saturation, 150, 1e-6);
  EXPECT_NEAR(fit.base, 0.8, 1e-9);
  EXPECT_NEAR(fit.per_sample, 0.004, 1e-9);
}

// One size beyond the knee: of all lines through it the one without a base, which is never too
// hopeful.
TEST(FitCurve, OneSizeBeyondTheFlatPartIsTakenInProportion) {
  const TimeCurve fit =
      FitCurve(Sizes({40, 80, 300}, [](double x) { return 0.01 * std::max(x, 100.0); }));
  EXPECT_NEAR(fit.saturation, 100, 1e-6);
  EXPECT_NEAR(fit(600), 6, 1e-9);
}

// Chance makes a knee once in a hundred times, among the smallest sizes.
TEST(FitCurve, ANoisyLineHasNoKnee) {
  Chance chance(3);
  int knees = 0;
  for (int round = 0; round < 500; ++round) {
    const auto line = [&](double x) { return (0.2 + 0.003 * x) * (1 + 0.03 * chance.Normal()); };
    const TimeCurve fit = FitCurve(Sizes(kPowers, line));
    knees += fit.saturation > 0;
    ASSERT_LT(fit.saturation, 40) << round;
    ASSERT_NEAR(fit.per_sample, 0.003, 0.0004) << round;
  }
  EXPECT_LE(knees, 5);
}

TEST(FitCurve, NoiseMovesTheKneeALittle) {
  Chance chance(4);
  for (int round = 0; round < 200; ++round) {
    const double fill = 20 + 300 * chance.Uniform();
    const auto device = [&](double x) {
      return (0.05 + std::max(x, fill) / 500) * (1 + 0.03 * chance.Normal());
    };
    const TimeCurve fit = FitCurve(Sizes(kPowers, device));
    ASSERT_NEAR(fit.saturation / fill, 1, 0.25) << round << ' ' << fill;
    ASSERT_NEAR(fit.per_sample * 500, 1, 0.15) << round << ' ' << fill;
  }
}

// A real device bends rather than breaks: (fill^4 + x^4)^(1/4) in place of max(fill, x).
TEST(FitCurve, ABendIsTakenForAKnee) {
  for (const double fill : {40.0, 100.0, 250.0}) {
    const auto device = [&](double x) {
      return 0.05 + std::pow(std::pow(fill, 4) + std::pow(x, 4), 0.25) / 500;
    };
    const TimeCurve fit = FitCurve(Sizes(kPowers, device));
    EXPECT_NEAR(fit.saturation / fill, 1, 0.2) << fill;
    for (const double x : kPowers)
      EXPECT_NEAR(fit(static_cast<uint32_t>(x)) / device(x), 1, 0.15) << fill << ' ' << x;
  }
}

// Whatever it is given: a device whose time never falls as its batch grows, and whose time a sample
// never rises. ShareToFinishTogether needs the one, extrapolation the other.
TEST(FitCurveProperty, IsAlwaysACurveThatADeviceCouldHave) {
  Chance chance(6);
  for (int round = 0; round < 3000; ++round) {
    std::vector<TimedSize> sizes;
    double samples = 0;
    for (uint64_t count = 1 + chance.Below(12); count > 0; --count) {
      samples += 1 + double(chance.Below(200));
      sizes.push_back({.samples = samples,
                       .seconds = std::exp(3 * chance.Normal()),
                       .weight = 0.01 + 10 * chance.Uniform()});
    }
    const TimeCurve fit = FitCurve(sizes);
    ASSERT_TRUE(std::isfinite(fit.base) && std::isfinite(fit.per_sample)) << round;
    ASSERT_GT(fit.per_sample, 0) << round;
    ASSERT_GE(fit.saturation, 0) << round;
    ASSERT_GE(fit.base, 0.999999 * fit.per_sample * fit.saturation) << round;
    for (uint32_t x = 1; x < 2000; x += 97) ASSERT_GT(fit(x), 0) << round;
  }
}

}  // namespace
}  // namespace paceline::sync
