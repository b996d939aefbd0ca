#include "simulator/kernel/distribution.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

// Of many draws: what must hold of each, whatever it is drawn from.
struct Moments {
  double mean = 0, variance = 0, least = 1e300;
};
Moments MomentsOf(const Distribution& distribution, int draws = 200'000) {
  RandomStream stream(1, "moments");
  Moments moments;
  double square = 0;
  for (int i = 0; i < draws; ++i) {
    const double value = Draw(distribution, stream);
    moments.mean += value / draws;
    square += value * value / draws;
    moments.least = std::min(moments.least, value);
  }
  moments.variance = square - moments.mean * moments.mean;
  return moments;
}

struct Case {
  std::string name;
  Distribution distribution;
  double mean, variance, least;
};

class DistributionTest : public testing::TestWithParam<Case> {};

// By the textbook's formulas.
TEST_P(DistributionTest, HasItsMeanAndVariance) {
  const Case& wanted = GetParam();
  ASSERT_TRUE(Validate(wanted.distribution).ok());
  EXPECT_DOUBLE_EQ(Mean(wanted.distribution), wanted.mean);
  const Moments found = MomentsOf(wanted.distribution);
  EXPECT_NEAR(found.mean, wanted.mean, 0.02 * wanted.mean);
  EXPECT_NEAR(found.variance, wanted.variance, 0.06 * wanted.variance + 1e-9);
  EXPECT_GE(found.least, wanted.least);
}

INSTANTIATE_TEST_SUITE_P(
    All, DistributionTest,
    testing::Values(Case{"Constant", Constant{2}, 2, 0, 2},
                    Case{"Uniform", Uniform{1, 3}, 2, 1.0 / 3, 1},
                    Case{"Exponential", Exponential{2}, 2, 4, 0},
                    Case{"ShiftedExponential", ShiftedExponential{1, 2}, 3, 4, 1},
                    Case{"Lognormal", Lognormal{2, 0.5}, 2, 4 * (std::exp(0.25) - 1), 0},
                    Case{"Pareto", Pareto{1, 5}, 1.25, 5.0 / (16 * 3), 1},
                    Case{"Gamma", Gamma{2, 3}, 2, 4.0 / 3, 0},
                    Case{"GammaBelow1", Gamma{2, 0.5}, 2, 8, 0},
                    Case{"Empirical", Empirical{{1, 2, 6}}, 3, 14.0 / 3, 1}),
    [](const auto& one) { return one.param.name; });

TEST(Distribution, RefusesWhatIsNone) {
  const auto refusal = [](Distribution distribution) { return Message(Validate(distribution)); };
  EXPECT_EQ(refusal(Uniform{2, 1}), "high must be at least low, 2: got 1");
  EXPECT_EQ(refusal(Exponential{-1}), "mean must be at least 0: got -1");
  EXPECT_EQ(refusal(Lognormal{0, 1}), "mean must be above 0: got 0");
  EXPECT_EQ(refusal(Pareto{1, 0}), "shape must be above 0: got 0");
  EXPECT_EQ(refusal(Gamma{1, std::nan("")}), "shape must be above 0: got nan");
  EXPECT_EQ(refusal(Empirical{}), "values must not be empty");
  EXPECT_EQ(refusal(Empirical{{1, -2}}), "values must be at least 0: got -2");
  EXPECT_EQ(refusal(Constant{INFINITY}), "value must be at least 0: got inf");
}

TEST(RandomStream, IsTheSameEverywhere) {
  RandomStream stream(1, "jitter", 3);
  // Worked out by hand of the published constants, in another language.
  const std::vector<uint64_t> wanted = {0xcbe7576d7ca7d34f, 0x6d86290b7a054db4, 0x10daac3c8e52644a};
  for (const uint64_t value : wanted) EXPECT_EQ(stream.Next(), value);
}

TEST(RandomStream, DiffersByItsSeedNameAndNumber) {
  std::vector<uint64_t> first;
  for (const auto& [seed, name, number] : {std::tuple(1, "a", 0), std::tuple(2, "a", 0),
                                           std::tuple(1, "b", 0), std::tuple(1, "a", 1)}) {
    first.push_back(RandomStream(seed, name, number).Next());
  }
  std::ranges::sort(first);
  EXPECT_EQ(std::ranges::unique(first).size(), 0u);
}

}  // namespace
}  // namespace paceline::simulator
