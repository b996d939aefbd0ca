#include "ps-server/coordinator/straggler_watch.h"

#include <gtest/gtest.h>

namespace paceline::ps {
namespace {

using std::chrono::seconds;

constexpr Time At(double at) { return Time(Seconds(at)); }

StragglerWatch Watch() {
  return StragglerWatch({.slowdown_percent = 200, .for_time = seconds(10)});
}

// Each of three workers pushes once a second for a while; the last needs `factor` as long.
void Push(StragglerWatch& watch, double from, double to, double factor) {
  for (double at = from; at < to; at += 1) {
    for (uint32_t worker = 0; worker < 3; ++worker)
      watch.Pushed(WorkerId(worker), Seconds(worker == 2 ? 0.1 * factor : 0.1), 10, At(at));
  }
}

TEST(StragglerWatchTest, SlowForLongIsAStraggler) {
  StragglerWatch watch = Watch();
  Push(watch, 0, 5, 3);
  EXPECT_FALSE(watch.PaceOf(WorkerId(2), At(5)).is_straggler);  // Not for long yet.
  EXPECT_NEAR(watch.PaceOf(WorkerId(2), At(5)).slowdown_percent, 300, 1e-6);
  Push(watch, 5, 12, 3);
  EXPECT_TRUE(watch.PaceOf(WorkerId(2), At(12)).is_straggler);
  EXPECT_FALSE(watch.PaceOf(WorkerId(0), At(12)).is_straggler);
  EXPECT_NEAR(watch.PaceOf(WorkerId(0), At(12)).slowdown_percent, 100, 1e-6);
  EXPECT_NEAR(watch.PaceOf(WorkerId(2), At(12)).compute_seconds_p50, 0.3, 1e-9);
}

TEST(StragglerWatchTest, SlowOnAverageButBelowTheLimitIsNone) {
  StragglerWatch watch = Watch();
  Push(watch, 0, 60, 1.9);
  EXPECT_FALSE(watch.PaceOf(WorkerId(2), At(60)).is_straggler);
}

TEST(StragglerWatchTest, WhoRecoversIsNoneAnyMore) {
  StragglerWatch watch = Watch();
  Push(watch, 0, 20, 3);
  Push(watch, 20, 30, 1);
  EXPECT_FALSE(watch.PaceOf(WorkerId(2), At(30)).is_straggler);
}

TEST(StragglerWatchTest, WhoSkipsBatchesIsNoMeasureOfTheOthers) {
  StragglerWatch watch = Watch();
  for (double at = 0; at < 30; at += 1) {
    for (const uint32_t worker : {0, 1})
      watch.Pushed(WorkerId(worker), int(at) % 3 == 0 ? Seconds(0.1) : Duration{}, 10, At(at));
    watch.Pushed(WorkerId(2), Seconds(0.1), 10, At(at));
  }
  EXPECT_NEAR(watch.PaceOf(WorkerId(2), At(30)).slowdown_percent, 100, 1e-6);
}

TEST(StragglerWatchTest, LargerBatchesAreNotSlowness) {
  StragglerWatch watch = Watch();
  for (double at = 0; at < 30; at += 1) {
    watch.Pushed(WorkerId(0), Seconds(0.1), 10, At(at));
    watch.Pushed(WorkerId(1), Seconds(0.4), 40, At(at));
  }
  EXPECT_NEAR(watch.PaceOf(WorkerId(1), At(30)).slowdown_percent, 100, 1e-6);
}

TEST(StragglerWatchTest, OfTwoTheSlowOneIsSlow) {
  StragglerWatch watch = Watch();
  for (double at = 0; at < 30; at += 1) {
    watch.Pushed(WorkerId(0), Seconds(0.1), 10, At(at));
    watch.Pushed(WorkerId(1), Seconds(0.4), 10, At(at));
  }
  EXPECT_TRUE(watch.PaceOf(WorkerId(1), At(30)).is_straggler);
  EXPECT_FALSE(watch.PaceOf(WorkerId(0), At(30)).is_straggler);
}

TEST(StragglerWatchTest, AloneOrUnknownIsNobodysStraggler) {
  StragglerWatch watch = Watch();
  EXPECT_EQ(watch.PaceOf(WorkerId(7), At(0)).slowdown_percent, 0);
  for (double at = 0; at < 30; at += 1) watch.Pushed(WorkerId(0), Seconds(9), 10, At(at));
  EXPECT_FALSE(watch.PaceOf(WorkerId(0), At(30)).is_straggler);
}

TEST(StragglerWatchTest, WhoLeavesIsForgotten) {
  StragglerWatch watch = Watch();
  Push(watch, 0, 20, 3);
  watch.Left(WorkerId(2));
  EXPECT_EQ(watch.PaceOf(WorkerId(2), At(20)).compute_seconds_p50, 0);
}

}  // namespace
}  // namespace paceline::ps
