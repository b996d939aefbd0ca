#include "lib/sync/schemes/auto/foresight.h"

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

TEST(ForesightTest, WhatWasNeverTriedIsBelieved) { EXPECT_EQ(Foresight().Share(), 1); }

TEST(ForesightTest, RoundsThatTakeLongerAreBelievedLess) {
  Foresight foresight;
  for (int round = 0; round < 3; ++round) foresight.Add(2, 2);
  EXPECT_DOUBLE_EQ(foresight.Share(), 1);
  for (int round = 0; round < 200; ++round) foresight.Add(2.5, 2);
  EXPECT_NEAR(foresight.Share(), 0.8, 1e-3);
}

// One that hangs is no reason to believe nothing any more.
TEST(ForesightTest, SinksThisFarAndNoFurther) {
  Foresight foresight;
  foresight.Add(1000, 1);
  EXPECT_DOUBLE_EQ(foresight.Share(), 0.75);
}

TEST(ForesightTest, RoundsThatTakeLessArePromisedNothingMore) {
  Foresight foresight;
  foresight.Add(1, 2);
  EXPECT_DOUBLE_EQ(foresight.Share(), 1);
}

TEST(ForesightTest, IsForgottenWhereNothingIsSeen) {
  Foresight foresight;
  foresight.Add(2.5, 2);
  double before = foresight.Share();
  EXPECT_DOUBLE_EQ(before, 0.8);
  for (int sweep = 0; sweep < 200; ++sweep) {
    foresight.Fade();
    EXPECT_GT(foresight.Share(), before);
    before = foresight.Share();
  }
  EXPECT_GT(before, 0.95);
}

}  // namespace
}  // namespace paceline::sync
