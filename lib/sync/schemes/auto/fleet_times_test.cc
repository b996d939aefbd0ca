#include "lib/sync/schemes/auto/fleet_times.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

constexpr WorkerId kWorker(3);

Time At(double seconds) { return Time{} + Seconds(seconds); }

class FleetTimesTest : public ::testing::Test {
 protected:
  FleetTimesTest() { fleet_.Joined(kWorker); }

  // From one second to the next but one, computing for one.
  FleetTimes::Step Step(uint32_t wished, uint32_t samples) {
    fleet_.Began(kWorker, wished, now_);
    now_ += Seconds(2);
    return fleet_.Ended(kWorker, samples, Seconds(1), now_);
  }
  StepTimes Times() const { return *fleet_.Shadows(0, now_).front().times; }
  double Age(double communication, double seconds) const {
    return fleet_.Shadows(communication, now_ + Seconds(seconds)).front().age;
  }

  FleetTimes fleet_;
  Time now_ = At(10);
};

TEST_F(FleetTimesTest, TheFirstStepOfAProcessIsNotHeldAgainstIt) {
  EXPECT_FALSE(Step(4, 4).cost);
  EXPECT_EQ(Times().size(), 0u);
  EXPECT_DOUBLE_EQ(Step(4, 4).cost.value(), 1);
  EXPECT_DOUBLE_EQ(Times().Mean(), 0.25);
  fleet_.Joined(kWorker);
  EXPECT_FALSE(Step(4, 4).cost) << "another process";
}

TEST_F(FleetTimesTest, TheLastSamplesOfAnEpochAreNoMeasure) {
  Step(8, 8);
  Step(8, 8);
  EXPECT_FALSE(Step(8, 3).cost);
  EXPECT_EQ(Times().size(), 1u);
  EXPECT_TRUE(Step(8, 4).cost);
}

TEST_F(FleetTimesTest, IsKnownByTwoStepsOfEach) {
  Step(4, 4);
  Step(4, 4);
  EXPECT_TRUE(fleet_.IsAnyUnknown());
  Step(4, 4);
  EXPECT_FALSE(fleet_.IsAnyUnknown());
  fleet_.Joined(WorkerId(7));
  EXPECT_TRUE(fleet_.IsAnyUnknown());
  fleet_.Left(WorkerId(7));
  EXPECT_FALSE(fleet_.IsAnyUnknown());
}

TEST_F(FleetTimesTest, ARunningStepIsAsOldAsItComputes) {
  fleet_.Began(kWorker, 4, now_);
  EXPECT_DOUBLE_EQ(Age(0, 6), 1.5);
  EXPECT_DOUBLE_EQ(Age(2, 6), 1);
  EXPECT_DOUBLE_EQ(Age(2, 1), 0) << "it still pulls";
  fleet_.Stopped(kWorker);
  EXPECT_DOUBLE_EQ(Age(0, 6), 0);
}

TEST_F(FleetTimesTest, AStepThatIsGivenUpCountsBySoMuchOfItsAge) {
  fleet_.Began(kWorker, 4, now_);
  fleet_.Aborted(kWorker, 2, now_ + Seconds(6));
  EXPECT_DOUBLE_EQ(Times().Mean(), 1);
  fleet_.Began(kWorker, 4, now_);
  fleet_.Aborted(kWorker, 2, now_ + Seconds(1));
  EXPECT_EQ(Times().size(), 1u) << "it had not begun to compute";
}

TEST_F(FleetTimesTest, WhoIsNoMemberIsPassedOver) {
  fleet_.Began(WorkerId(9), 4, now_);
  EXPECT_FALSE(fleet_.Ended(WorkerId(9), 4, Seconds(1), now_).cost);
  EXPECT_FALSE(fleet_.Aborted(WorkerId(9), 0, now_));
  EXPECT_EQ(fleet_.size(), 1u);
}

}  // namespace
}  // namespace paceline::sync
