#include "lib/sync/schemes/auto/step_limit.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

StepLimit Used(double squared_norm, int rounds = 50) {
  StepLimit limit;
  for (int round = 0; round < rounds; ++round) limit.Add(squared_norm);
  return limit;
}

TEST(StepLimitTest, WhatIsNotKnownYetLimitsNothing) { EXPECT_EQ(StepLimit().Scale(0.25, 1e9), 1); }

TEST(StepLimitTest, UsualGradientsMakeWholeSteps) {
  const StepLimit limit = Used(2);
  EXPECT_EQ(limit.Scale(0.5, 2), 1);
  EXPECT_EQ(limit.Scale(0.5, 0.01), 1) << "and small ones no longer ones";
}

// As long as with the usual norm, times the root of 1 / sqrt(2 (1 - share)).
TEST(StepLimitTest, LargerOnesMakeStepsAsLongAsUsual) {
  const StepLimit limit = Used(2);
  EXPECT_DOUBLE_EQ(limit.Scale(0.5, 8), 0.5);
  EXPECT_DOUBLE_EQ(limit.Scale(0.25, 8), std::sqrt(2 / std::sqrt(1.5) / 8));
  EXPECT_DOUBLE_EQ(limit.Scale(0.875, 16), 0.5) << "seven of eight may be twice the usual";
  EXPECT_EQ(limit.Scale(0.875, 4), 1);
}

TEST(StepLimitTest, WhoWaitedForAllIsNotLimited) {
  EXPECT_EQ(Used(2).Scale(1, 1e9), 1);
  EXPECT_EQ(Used(2).Scale(1.5, 1e9), 1) << "more than a batch";
}

TEST(StepLimitTest, TheUsualIsThatOfTheLastTenRoundsOrSo) {
  StepLimit limit = Used(2);
  limit.Add(12);
  EXPECT_NEAR(limit.Scale(0.5, 9), std::sqrt(3.0 / 9), 1e-3);
  for (int round = 0; round < 50; ++round) limit.Add(8);
  EXPECT_NEAR(limit.Scale(0.5, 32), 0.5, 1e-2);
}

// Else it would be the usual itself for as long as it takes to forget.
TEST(StepLimitTest, OneRoundRaisesItNoFurtherThanTenTimesCounts) {
  StepLimit limit = Used(2);
  limit.Add(1e12);
  EXPECT_NEAR(limit.Scale(0.5, 3.8 * 4), 0.5, 1e-2);
}

// Not even for ever: a network may begin with next to none.
TEST(StepLimitTest, FollowsGradientsThatGrowByOrders) {
  StepLimit limit = Used(1e-8);
  int rounds = 0;
  for (; limit.Scale(0.5, 1) < 0.9; ++rounds) limit.Add(1);
  EXPECT_LE(rounds, 40) << "each of them raises it by 1.9, until it is within ten";
}

TEST(StepLimitTest, WhereGradientsAreNothingStepsAreNotNothing) {
  StepLimit limit = Used(0);
  EXPECT_EQ(limit.Scale(0.5, 1), 1);
  limit.Add(1);
  EXPECT_GT(limit.Scale(0.5, 1), 0);
}

TEST(StepLimitTest, WhatIsNotFiniteSaysNothing) {
  StepLimit limit = Used(2);
  const double infinite = std::numeric_limits<double>::infinity();
  limit.Add(infinite);
  limit.Add(std::nan(""));
  EXPECT_DOUBLE_EQ(limit.Scale(0.5, 8), 0.5);
  EXPECT_EQ(limit.Scale(0.5, infinite), 1) << "others refuse it";
}

}  // namespace
}  // namespace paceline::sync
