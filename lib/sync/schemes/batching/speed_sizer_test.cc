#include "lib/sync/schemes/batching/speed_sizer.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/make_sizer.h"
#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;
using testing::PushOf;
using testing::Sum;

const WorkerId w0(0), w1(1), w2(2);

class SpeedSizerTest : public ::testing::Test {
 protected:
  SpeedSizer Make(uint32_t batch, Sizing strategy = Sizing::kEma, uint32_t period = 1) {
    return SpeedSizer({.global_batch_size = batch,
                       .spec = {.strategy = strategy, .newest_weight = 0.5},
                       .period_steps = period});
  }
  // One step in which each worker computes what it is given at its speed.
  static std::vector<uint32_t> Step(SpeedSizer& sizer, const std::vector<WorkerId>& workers,
                                    const std::vector<double>& speeds) {
    const std::vector<uint32_t> shares = sizer.ShareOut(workers);
    for (size_t i = 0; i < workers.size(); ++i)
      sizer.Arrived(PushOf(workers[i], shares[i], shares[i] / speeds[i]));
    sizer.StepClosed();
    sizer.StepPublished();
    return shares;
  }
};

TEST_F(SpeedSizerTest, SharesAreEqualUntilSpeedsAreKnown) {
  SpeedSizer sizer = Make(30);
  for (const WorkerId worker : {w0, w1, w2}) sizer.Joined(worker);
  EXPECT_THAT(sizer.ShareOut({w0, w1, w2}), ElementsAre(10, 10, 10));
}

TEST_F(SpeedSizerTest, TheFirstStepOfAWorkerTellsNothing) {
  SpeedSizer sizer = Make(40);
  sizer.Joined(w0), sizer.Joined(w1);
  EXPECT_THAT(Step(sizer, {w0, w1}, {1, 100}), ElementsAre(20, 20));  // Kernels are set up.
  EXPECT_THAT(Step(sizer, {w0, w1}, {300, 100}), ElementsAre(20, 20));
  EXPECT_THAT(Step(sizer, {w0, w1}, {300, 100}), ElementsAre(30, 10));
}

TEST_F(SpeedSizerTest, ANewcomerCountsAsTheMean) {
  SpeedSizer sizer = Make(60);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 3; ++i) Step(sizer, {w0, w1}, {300, 100});
  sizer.Joined(w2);
  EXPECT_THAT(sizer.ShareOut({w0, w1, w2}), ElementsAre(30, 10, 20));
}

TEST_F(SpeedSizerTest, ALossIsSharedOutOverTheRest) {
  SpeedSizer sizer = Make(60);
  for (const WorkerId worker : {w0, w1, w2}) sizer.Joined(worker);
  for (int i = 0; i < 3; ++i) Step(sizer, {w0, w1, w2}, {300, 100, 200});
  EXPECT_THAT(sizer.ShareOut({w0, w1, w2}), ElementsAre(30, 10, 20));
  sizer.Left(w2);
  EXPECT_THAT(sizer.ShareOut({w0, w1}), ElementsAre(45, 15));
}

TEST_F(SpeedSizerTest, AReturnerIsRememberedByItsSpeedButNotItsMemory) {
  SpeedSizer sizer = Make(40);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 3; ++i) Step(sizer, {w0, w1}, {300, 100});
  sizer.RanOutOfMemory(w0, 15);
  EXPECT_THAT(sizer.ShareOut({w0, w1}), ElementsAre(15, 25));
  sizer.Left(w0);
  sizer.Joined(w0);
  EXPECT_THAT(sizer.ShareOut({w0, w1}), ElementsAre(30, 10));
}

TEST_F(SpeedSizerTest, WhatMemoryForbidsGoesToTheOthers) {
  SpeedSizer sizer = Make(40);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 3; ++i) Step(sizer, {w0, w1}, {300, 100});
  sizer.RanOutOfMemory(w0, 18);
  EXPECT_THAT(sizer.ShareOut({w0, w1}), ElementsAre(18, 22));
  EXPECT_EQ(sizer.LearningRateScale(), 1);
}

TEST_F(SpeedSizerTest, WhereNobodyCanHoldTheRestTheRateGoesDownWithTheBatch) {
  SpeedSizer sizer = Make(40);
  sizer.Joined(w0), sizer.Joined(w1);
  sizer.RanOutOfMemory(w0, 8);
  sizer.RanOutOfMemory(w1, 12);
  EXPECT_THAT(sizer.ShareOut({w0, w1}), ElementsAre(8, 12));
  EXPECT_EQ(sizer.LearningRateScale(), 0.5);
}

TEST_F(SpeedSizerTest, TheRestOfAnEpochTellsNothing) {
  SpeedSizer sizer = Make(40);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 3; ++i) Step(sizer, {w0, w1}, {300, 100});
  sizer.Arrived(PushOf(w0, 2, 5));
  EXPECT_THAT(sizer.ShareOut({w0, w1}), ElementsAre(30, 10));
}

TEST_F(SpeedSizerTest, OnASlowTimeScaleSharesStayForSoManySteps) {
  SpeedSizer sizer = Make(40, Sizing::kEma, 10);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Step(sizer, {w0, w1}, {300, 100}), ElementsAre(20, 20));
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Step(sizer, {w0, w1}, {100, 100}), ElementsAre(30, 10));
  EXPECT_THAT(sizer.ShareOut({w0, w1}), ElementsAre(20, 20));
}

TEST_F(SpeedSizerTest, TrainingWaitsForSpareAndKeepsToItsBudget) {
  SpeedSizer sizer = Make(40, Sizing::kNarx);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 8; ++i) Step(sizer, {w0, w1}, {300, 100});
  const std::vector<uint32_t> shares = sizer.ShareOut({w0, w1});
  EXPECT_TRUE(sizer.WantsSpare());
  sizer.UseSpare(3);  // Less than one minibatch.
  EXPECT_TRUE(sizer.WantsSpare());
  sizer.UseSpare(4 * 7);
  EXPECT_TRUE(sizer.WantsSpare()) << "two workers, four minibatches each";
  sizer.UseSpare(4);
  EXPECT_FALSE(sizer.WantsSpare());
  EXPECT_EQ(sizer.ShareOut({w0, w1}), shares) << "a prediction is made once, when a step is over";
}

// Two minibatches a step, where each of six networks is due four.
TEST_F(SpeedSizerTest, ABudgetThatNeverSufficesTrainsEverybodyInTurn) {
  SpeedSizer sizer = Make(60, Sizing::kNarx);
  std::vector<WorkerId> workers;
  for (uint64_t w = 0; w < 6; ++w) sizer.Joined(workers.emplace_back(w));
  const auto trained = [&] {
    std::vector<bool> is_trained;
    std::istringstream lines(sizer.Save());
    for (std::string line; std::getline(lines, line);)
      is_trained.push_back(line.find("weights=") != std::string::npos);
    return std::count(is_trained.begin(), is_trained.end(), true);
  };
  const std::vector<double> speeds(6, 100);
  for (int i = 0; i < 8; ++i) Step(sizer, workers, speeds);
  EXPECT_EQ(trained(), 0);
  for (const int expected : {2, 4, 6}) {
    sizer.UseSpare(2 * 4);
    EXPECT_EQ(trained(), expected);
    Step(sizer, workers, speeds);
  }
}

TEST_F(SpeedSizerTest, WhoLeftIsTrainedNoMoreAndWhoReturnsWaitsAnew) {
  SpeedSizer sizer = Make(40, Sizing::kNarx);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 8; ++i) Step(sizer, {w0, w1}, {300, 100});
  sizer.Left(w0);
  sizer.UseSpare(4 * 4);
  EXPECT_FALSE(sizer.WantsSpare());
  sizer.Joined(w0);
  EXPECT_TRUE(sizer.WantsSpare());
  sizer.UseSpare(4 * 4);
  EXPECT_FALSE(sizer.WantsSpare());
}

TEST_F(SpeedSizerTest, ACloneTrainsInTheSameTurn) {
  SpeedSizer sizer = Make(40, Sizing::kNarx);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 8; ++i) Step(sizer, {w0, w1}, {300, 100});
  sizer.UseSpare(4);
  const std::unique_ptr<BatchSizer> clone = sizer.Clone();
  EXPECT_EQ(clone->DebugString(), sizer.DebugString());
  const std::string before = sizer.Save();
  clone->UseSpare(4);
  EXPECT_EQ(sizer.Save(), before);
  sizer.UseSpare(4);
  EXPECT_EQ(clone->Save(), sizer.Save());
  EXPECT_EQ(clone->DebugString(), sizer.DebugString());
}

TEST_F(SpeedSizerTest, NothingIsTrainedBetweenACommitAndItsReleases) {
  SpeedSizer sizer = Make(40, Sizing::kNarx);
  sizer.Joined(w0), sizer.Joined(w1);
  for (int i = 0; i < 8; ++i) Step(sizer, {w0, w1}, {300, 100});
  EXPECT_TRUE(sizer.WantsSpare());
  sizer.StepClosed();
  EXPECT_FALSE(sizer.WantsSpare());
  sizer.StepPublished();
  EXPECT_TRUE(sizer.WantsSpare());
}

TEST_F(SpeedSizerTest, ARestoredOneSharesAsTheOneThatWasSaved) {
  for (const Sizing strategy : {Sizing::kEma, Sizing::kNarx}) {
    SpeedSizer sizer = Make(40, strategy);
    sizer.Joined(w0), sizer.Joined(w1);
    for (int i = 0; i < 20; ++i) {
      Step(sizer, {w0, w1}, {300, 100});
      sizer.UseSpare(64);
    }
    auto again = MakeSizer({.global_batch_size = 40, .spec = {.strategy = strategy}}, sizer.Save());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->Save(), sizer.Save()) << "also before anybody has joined";
    (*again)->Joined(w0), (*again)->Joined(w1);
    EXPECT_THAT((*again)->ShareOut({w0, w1}), ElementsAre(30, 10));
  }
}

TEST_F(SpeedSizerTest, WhatItDoesNotKnowIsNotSaved) {
  SpeedSizer sizer = Make(40);
  sizer.Joined(w0);
  EXPECT_EQ(sizer.Save(), "");
}

TEST(MakeSizer, RefusesWhatAnotherStrategySaved) {
  for (const Sizing strategy : {Sizing::kEqual, Sizing::kStepwise, Sizing::kEma}) {
    const auto sizer = MakeSizer({.spec = {.strategy = strategy}}, "nonsense");
    EXPECT_EQ(sizer.status().code(), StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace paceline::sync
