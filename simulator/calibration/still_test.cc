#include "simulator/calibration/still.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/calibration/fit.h"

namespace paceline::simulator {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Whose pushes, of ten samples, computed so long beside nothing injected.
RecordedWorker Worker(const std::vector<double>& seconds) {
  RecordedWorker worker;
  double now = 0;
  for (const double one : seconds) {
    now += one + 0.25;
    worker.pushes.push_back({10, 1, one, 0.25, Seconds(now)});
  }
  return worker;
}

Recording Of(std::vector<RecordedWorker> workers) {
  Recording recording;
  recording.workers = std::move(workers);
  return recording;
}

std::vector<double> ComputeOf(const RecordedWorker& worker) {
  std::vector<double> seconds;
  for (const RecordedPush& push : worker.pushes) seconds.push_back(push.compute);
  return seconds;
}

TEST(Still, StepsTakeAsLongAsTheQuickestSeen) {
  const Recording still = Still(Of({Worker({9, 9, 2, 1, 4, 1.5}), Worker({9, 9, 5, 1.25, 3, 8})}));
  EXPECT_THAT(ComputeOf(still.workers[0]), Each(1));
  EXPECT_THAT(ComputeOf(still.workers[1]), Each(1)) << "it was never let alone, or nearly";
}

TEST(Still, WhatIsInjectedStays) {
  Recording recording = Of({Worker({9, 9, 2, 1, 4}), Worker({9, 9, 7, 6, 9})});
  for (RecordedPush& push : recording.workers[1].pushes) push.injected = 5;
  recording.workers[1].pushes.back().injected = 7;
  const Recording still = Still(recording);
  EXPECT_THAT(ComputeOf(still.workers[0]), Each(1));
  EXPECT_THAT(ComputeOf(still.workers[1]), ElementsAre(6, 6, 6, 6, 8));
}

TEST(Still, TheFirstPushesSayNothing) {
  const Recording still = Still(Of({Worker({0.5, 0.5, 2, 3})}));
  EXPECT_THAT(ComputeOf(still.workers[0]), Each(2));
  EXPECT_THAT(ComputeOf(Still(Of({Worker({4, 3})})).workers[0]), Each(3)) << "it has no others";
}

// As a worker on a slower device is, whose quickest step is slower than most of the others'.
TEST(Still, WhatIsSlowInAllStepsStaysTheWorkersOwn) {
  const Recording still = Still(
      Of({Worker({9, 9, 4, 3.5, 6}), Worker({9, 9, 1, 1.5, 2}), Worker({9, 9, 1.25, 3, 1.5})}));
  EXPECT_THAT(ComputeOf(still.workers[0]), Each(3.5));
  EXPECT_THAT(ComputeOf(still.workers[1]), Each(1));
  EXPECT_THAT(ComputeOf(still.workers[2]), Each(1));
}

TEST(Still, OfMoreSamplesStepsTakeLonger) {
  Recording recording = Of({Worker({9, 9, 4, 2, 4})});
  recording.workers[0].pushes.back().samples = 30;
  EXPECT_THAT(ComputeOf(Still(recording).workers[0]).back(), 4);
  EXPECT_NEAR(ComputeOf(Still(recording).workers[0])[3], 4.0 / 3, 1e-12);
}

// A worker with more threads than there are processors for a while.
TEST(Still, SlownessForLongThatWasNotInjectedIsNoChange) {
  std::vector<double> seconds(40, 1);
  for (size_t i = 20; i < 30; ++i) seconds[i] = 10 + 0.1 * static_cast<double>(i % 3);
  const Recording recording = Of({Worker(seconds)});
  EXPECT_EQ(Fit(recording)->workers[0].changes.size(), 3u);
  EXPECT_THAT(Fit(Still(recording))->workers[0].changes, IsEmpty());
  Recording injected = recording;
  for (RecordedPush& push : injected.workers[0].pushes) push.injected = push.compute - 0.5;
  EXPECT_EQ(Fit(Still(injected))->workers[0].changes.size(), 3u);
}

TEST(Still, PushesBeginWhenTheyDid) {
  const Recording recording = Of({Worker({9, 9, 2, 1, 4})}), still = Still(recording);
  for (size_t i = 0; i < 5; ++i) {
    const RecordedPush &before = recording.workers[0].pushes[i], &now = still.workers[0].pushes[i];
    EXPECT_NEAR(ToSeconds(now.came) - now.compute, ToSeconds(before.came) - before.compute, 1e-6);
  }
}

// Of a clock that ran too fast: all of it was injected, and more.
TEST(Still, WhereNoPushTellsOnlyTheInjectedIsLeft) {
  Recording recording = Of({Worker({1, 1, 1, 1}), Worker({1, 1, 1, 1})});
  for (RecordedPush& push : recording.workers[0].pushes) push.injected = 1.5;
  const Recording still = Still(recording);
  EXPECT_THAT(ComputeOf(still.workers[0]), Each(1.5));
  EXPECT_THAT(ComputeOf(still.workers[1]), Each(1));
}

}  // namespace
}  // namespace paceline::simulator
