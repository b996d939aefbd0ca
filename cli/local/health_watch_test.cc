#include "cli/local/health_watch.h"

#include <gtest/gtest.h>

namespace paceline::local {
namespace {

Time At(double seconds) { return Time(Seconds(seconds)); }

TEST(HealthWatchTest, HangsAfterItsPatienceWithoutAGoodAnswer) {
  HealthWatch watch(Seconds(30));
  watch.Begin(At(0));
  EXPECT_FALSE(watch.Answered(true, At(9), At(10)));
  for (int second = 11; second < 40; ++second)
    EXPECT_FALSE(watch.Answered(false, At(second), At(second))) << second;
  EXPECT_TRUE(watch.Answered(false, At(40), At(40)));
  watch.Begin(At(41));  // Another process.
  EXPECT_FALSE(watch.Answered(false, At(42), At(42)));
}

TEST(HealthWatchTest, WhoeverStoodStillItselfAsksAgainFirst) {
  HealthWatch watch(Seconds(30));
  watch.Begin(At(0));
  EXPECT_FALSE(watch.Answered(false, At(1000), At(1002)));
  EXPECT_FALSE(watch.Answered(false, At(1003), At(1005)));
  EXPECT_FALSE(watch.Answered(true, At(1006), At(1007)));
}

TEST(HealthWatchTest, IsAskedOnceASecondAndMayTakeATimeToAnswer) {
  HealthWatch watch(Seconds(3));
  EXPECT_EQ(watch.timeout(), Seconds(1));
  EXPECT_EQ(HealthWatch(Seconds(30)).timeout(), Seconds(2));
  (void)watch.Answered(true, At(5), At(5.5));
  EXPECT_FALSE(watch.IsDue(At(5.9)));
  EXPECT_TRUE(watch.IsDue(At(6)));
}

}  // namespace
}  // namespace paceline::local
