#include "lib/sync/schemes/auto/step_times.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;

StepTimes Of(const std::vector<double>& seconds) {
  StepTimes times;
  for (const double one : seconds) times.Add(one);
  return times;
}

std::vector<double> Kept(const StepTimes& times) {
  std::vector<double> kept;
  for (size_t i = 0; i < times.size(); ++i) kept.push_back(times.At(i));
  return kept;
}

TEST(StepTimesTest, KeepsTheLast) {
  StepTimes times;
  for (int i = 0; i < 40; ++i) times.Add(1 + 0.001 * i);
  ASSERT_EQ(times.size(), StepTimes::kKept);
  EXPECT_DOUBLE_EQ(times.At(0), 1.008);
  EXPECT_DOUBLE_EQ(times.At(StepTimes::kKept), 1.008);
}

TEST(StepTimesTest, AnAbortedStepIsAsLongAsThoseThatTookLonger) {
  StepTimes times = Of({1, 2, 6});
  times.AddAborted(1.5);
  EXPECT_THAT(Kept(times), ElementsAre(1, 2, 6, 4));
}

TEST(StepTimesTest, AnAbortedStepThatNoneTookLongerThanIsAsLongAsItRan) {
  StepTimes times = Of({1, 2, 6});
  times.AddAborted(7);
  EXPECT_THAT(Kept(times), ElementsAre(1, 2, 6, 7));
  StepTimes first;
  first.AddAborted(2);
  EXPECT_THAT(Kept(first), ElementsAre(2));
}

TEST(StepTimesTest, ARunOfSlowerStepsIsAnotherWorker) {
  StepTimes times = Of({1, 1, 1, 1, 1, 4, 4, 4});
  EXPECT_FALSE(times.has_changed());
  times.Add(4);
  EXPECT_TRUE(times.has_changed());
  EXPECT_THAT(Kept(times), ElementsAre(4, 4, 4, 4));
  times.Add(4);
  EXPECT_FALSE(times.has_changed());
}

TEST(StepTimesTest, ARunOfFasterStepsIsAnotherWorker) {
  StepTimes times = Of({4, 4, 4, 4, 1, 1, 1, 1, 1});
  EXPECT_FALSE(times.has_changed());
  times.Add(1);
  EXPECT_TRUE(times.has_changed());
  EXPECT_THAT(Kept(times), ElementsAre(1, 1, 1, 1, 1, 1));
}

// What they are taken to have needed is not what was seen.
TEST(StepTimesTest, AbortedStepsThatRanNotLongAreNoChange) {
  StepTimes times = Of({1, 1, 1, 1, 3, 1});
  for (int i = 0; i < 8; ++i) times.AddAborted(1.2);
  EXPECT_FALSE(times.has_changed());
  EXPECT_EQ(times.size(), 14u);
}

TEST(StepTimesTest, StepsThatAreGivenUpSoonAreNotFast) {
  StepTimes times = Of({1, 1, 1, 1, 1, 1});
  for (int i = 0; i < 8; ++i) times.AddAborted(0.1);
  EXPECT_FALSE(times.has_changed());
  EXPECT_EQ(times.size(), 14u);
}

TEST(StepTimesTest, AbortedStepsThatRanLongAreOne) {
  StepTimes times = Of({1, 1, 1, 1, 1});
  for (int i = 0; i < 4; ++i) times.AddAborted(2);
  EXPECT_TRUE(times.has_changed());
  EXPECT_THAT(Kept(times), ElementsAre(2, 2, 2, 2));
}

TEST(StepTimesTest, ARunningStepThatIsSlowerThanAllHasAFifth) {
  const StepTimes times = Of({1, 1, 2, 2, 1, 1, 2, 2});
  EXPECT_DOUBLE_EQ(times.Mean(2), 1.5);
  EXPECT_DOUBLE_EQ(times.Mean(6.5), 2.5);
  EXPECT_DOUBLE_EQ(times.At(8, 6.5), 6.5);
  EXPECT_DOUBLE_EQ(times.At(9, 6.5), 6.5);
  EXPECT_DOUBLE_EQ(times.At(10, 6.5), 1);
}

TEST(StepTimesTest, OfWhomNothingIsKnownTheRunningStepIs) {
  EXPECT_DOUBLE_EQ(StepTimes().Mean(3), 3);
  EXPECT_DOUBLE_EQ(StepTimes().At(5, 3), 3);
}

}  // namespace
}  // namespace paceline::sync
