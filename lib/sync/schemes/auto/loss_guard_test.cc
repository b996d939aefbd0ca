#include "lib/sync/schemes/auto/loss_guard.h"

#include <limits>

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

void End(LossGuard& guard, int sweeps, double loss) {
  for (int i = 0; i < sweeps; ++i) guard.EndSweep(loss);
}

TEST(LossGuardTest, IsTrippedByALossFarAboveThatBefore) {
  LossGuard guard;
  End(guard, 20, 1);
  guard.BeginAsync();
  End(guard, 4, 1.4);
  EXPECT_FALSE(guard.IsTripped()) << "five sweeps are the least";
  End(guard, 1, 1.4);
  EXPECT_TRUE(guard.IsTripped());
  guard.BeginBarrier();
  EXPECT_FALSE(guard.IsTripped());
}

TEST(LossGuardTest, LossesOfTheTimeBeforeWithoutABarrierCountNoMore) {
  LossGuard guard;
  End(guard, 9, 1);
  guard.BeginAsync();
  End(guard, 5, 2);
  ASSERT_TRUE(guard.IsTripped());
  guard.BeginBarrier();
  End(guard, 9, 1);
  guard.BeginAsync();
  EXPECT_FALSE(guard.IsTripped()) << "nothing is known of this time yet";
  for (int sweep = 1; sweep <= 5; ++sweep) {
    End(guard, 1, 1);
    EXPECT_FALSE(guard.IsTripped()) << sweep;
  }
}

TEST(LossGuardTest, IsNotTrippedByNoise) {
  LossGuard guard;
  for (int i = 0; i < 20; ++i) guard.EndSweep(i % 2 == 0 ? 0.5 : 1.5);
  guard.BeginAsync();
  for (int i = 0; i < 21; ++i) {
    guard.EndSweep(i % 3 == 0 ? 3 : 1);
    EXPECT_FALSE(guard.IsTripped()) << i;
  }
}

TEST(LossGuardTest, IsTrippedByALossThatFellAndRises) {
  LossGuard guard;
  End(guard, 9, 1);
  guard.BeginAsync();
  End(guard, 30, 0.1);
  EXPECT_FALSE(guard.IsTripped());
  End(guard, 3, 0.9);
  EXPECT_TRUE(guard.IsTripped());
}

TEST(LossGuardTest, JudgesLossesBelowZero) {
  LossGuard guard;
  End(guard, 9, -1);
  guard.BeginAsync();
  End(guard, 5, -0.9);
  EXPECT_FALSE(guard.IsTripped());
  End(guard, 5, -0.6);
  EXPECT_TRUE(guard.IsTripped());
}

TEST(LossGuardTest, WhatIsNoNumberIsFarAbove) {
  LossGuard guard;
  End(guard, 9, 1);
  guard.BeginAsync();
  End(guard, 5, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(guard.IsTripped());
}

}  // namespace
}  // namespace paceline::sync
