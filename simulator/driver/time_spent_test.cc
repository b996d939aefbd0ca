#include "simulator/driver/time_spent.h"

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

Time At(double seconds) { return Time(Seconds(seconds)); }

TEST(TimeSpent, IsWhatWasDoneSinceTheLastPush) {
  TimeSpent spent;
  EXPECT_EQ(spent.Switch(At(1), Activity::kCompute), Seconds(1));
  EXPECT_EQ(spent.Switch(At(3), Activity::kCommunication), Seconds(2));
  spent.Switch(At(7), Activity::kCompute);
  const sync::Timing timing = spent.Take();
  EXPECT_EQ(timing.wait, Seconds(1));
  EXPECT_EQ(timing.compute, Seconds(2));
  EXPECT_EQ(timing.communication, Seconds(4));
  spent.Switch(At(8), Activity::kWait);
  EXPECT_EQ(spent.Take().compute, Seconds(1));
}

TEST(TimeSpent, TransfersOverlapWhereTheWorkerDoesNotStandStill) {
  TimeSpent spent;
  spent.TransferBegins(At(1));
  spent.TransferBegins(At(2));
  spent.TransferEnds(At(4));
  spent.TransferEnds(At(5));
  sync::Timing meanwhile;
  meanwhile.communication = Seconds(1.5);
  EXPECT_EQ(spent.TakeOverlapped(At(6), meanwhile), Seconds(2.5));
  // One that is under way, up to now; and no less than nothing.
  spent.TransferBegins(At(7));
  EXPECT_EQ(spent.TakeOverlapped(At(9), {}), Seconds(2));
  EXPECT_EQ(spent.TakeOverlapped(At(10), meanwhile), Seconds(0));
}

}  // namespace
}  // namespace paceline::simulator
