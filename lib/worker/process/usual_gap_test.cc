#include "lib/worker/process/usual_gap.h"

#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

TEST(UsualGap, APauseIsMoreThanTenTimesTheMedian) {
  UsualGap gaps;
  for (const double seconds : {1.0, 3.0, 2.0}) EXPECT_FALSE(gaps.IsPause(Seconds(seconds)));
  EXPECT_FALSE(gaps.IsPause(Seconds(20)));
  EXPECT_TRUE(gaps.IsPause(Seconds(31)));  // The median of 1, 2, 3 and 20 is the larger of two.
  EXPECT_FALSE(gaps.IsPause(Seconds(3)));
}

TEST(UsualGap, TheFirstOnesAreNone) {
  UsualGap gaps;
  EXPECT_FALSE(gaps.IsPause(Seconds(0.001)));
  EXPECT_FALSE(gaps.IsPause(Seconds(300)));
  EXPECT_FALSE(gaps.IsPause(Seconds(0.001)));
}

TEST(UsualGap, WhatLastsBecomesUsual) {
  UsualGap gaps;
  for (int i = 0; i < 40; ++i) EXPECT_FALSE(gaps.IsPause(Seconds(0.1)));
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(gaps.IsPause(Seconds(5))) << i;
  EXPECT_FALSE(gaps.IsPause(Seconds(5)));
}

}  // namespace
}  // namespace paceline::worker
