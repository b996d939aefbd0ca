#include "lib/sync/schemes/auto/stall_watch.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

void End(StallWatch& watch, int sweeps, double loss) {
  for (int i = 0; i < sweeps; ++i) watch.EndSweep(loss);
}

TEST(StallWatchTest, ALossThatRestsIsSeenAfterTwoWindows) {
  StallWatch watch;
  End(watch, 23, 0.5);
  EXPECT_FALSE(watch.is_stalled());
  End(watch, 1, 0.5);
  EXPECT_TRUE(watch.is_stalled());
}

TEST(StallWatchTest, ALossThatFallsIsNoStall) {
  StallWatch watch;
  double loss = 2;
  for (int i = 0; i < 200; ++i) {
    watch.EndSweep(loss + (i % 2 == 0 ? 0.3 : -0.3) * loss);  // Noise of a third.
    loss *= 0.99;                                             // 11 % a window.
    ASSERT_FALSE(watch.is_stalled()) << i;
  }
  // 4 % a window is not enough.
  for (int i = 0; i < 24; ++i) watch.EndSweep(loss *= 0.9967);
  EXPECT_TRUE(watch.is_stalled());
}

TEST(StallWatchTest, IsLookedAtAgainLaterEachTime) {
  StallWatch watch;
  End(watch, 24, 1);
  for (const int sweeps : {30, 60, 120}) {
    End(watch, sweeps - 1, 1);
    EXPECT_TRUE(watch.is_stalled());
    End(watch, 1, 1);
    EXPECT_FALSE(watch.is_stalled()) << "after " << sweeps;
    End(watch, 23, 1);  // What was before is forgotten.
    EXPECT_FALSE(watch.is_stalled());
    End(watch, 1, 1);
  }
  EXPECT_EQ(watch.kept().stalls, 4u);
}

TEST(StallWatchTest, JudgesLossesBelowZeroAndWhatIsNoNumber) {
  StallWatch falling;
  for (int i = 0; i < 48; ++i) falling.EndSweep(-1 - 0.1 * i);
  EXPECT_FALSE(falling.is_stalled());
  StallWatch rising;
  for (int i = 0; i < 24; ++i) rising.EndSweep(-10 + 0.1 * i);
  EXPECT_TRUE(rising.is_stalled());
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    StallWatch broken;
    End(broken, 23, 1);
    End(broken, 1, bad);
    EXPECT_TRUE(broken.is_stalled());
  }
}

TEST(StallWatchTest, WhatIsKeptGoesOn) {
  StallWatch watch;
  End(watch, 24 + 5, 1);
  StallWatch restored;
  restored.Restore(watch.kept());
  EXPECT_TRUE(restored.is_stalled());
  End(restored, 25, 1);
  EXPECT_FALSE(restored.is_stalled());
  End(restored, 24 + 59, 1);
  EXPECT_TRUE(restored.is_stalled());
}

}  // namespace
}  // namespace paceline::sync
