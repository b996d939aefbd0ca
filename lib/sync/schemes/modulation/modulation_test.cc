#include "lib/sync/schemes/modulation/modulation.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lib/sync/schemes/modulation/pace.h"

namespace paceline::sync {
namespace {

constexpr Modulation kAllRules[] = {Modulation::kStaleness, Modulation::kInverse,
                                    Modulation::kExponential, Modulation::kProgressGap,
                                    Modulation::kNone};

double Scale(Modulation rule, uint64_t missed, uint32_t workers = 8, double power = 1,
             double pace = 1) {
  return LearningRateScale({.rule = rule, .power = power},
                           {.missed = missed, .workers = workers, .pace = pace});
}

// The vectors of rule (15): n=8, p=1, lambda_min=1/16.
TEST(Modulation, StalenessLeavesTheShareThatEqualWorkersWouldMiss) {
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 28), 0.25);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 7), 1);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 6), 1);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 0), 1);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 112), 1.0 / 16);
  EXPECT_GT(Scale(Modulation::kStaleness, 111), 1.0 / 16);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 1000), 1.0 / 16);
}

TEST(Modulation, PowerSharpensIt) {
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 14, 8, 2), 0.25);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kStaleness, 28, 8, 0.5), 0.5);
}

TEST(Modulation, InverseIsOneOverStaleness) {
  EXPECT_DOUBLE_EQ(Scale(Modulation::kInverse, 0), 1);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kInverse, 1), 1);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kInverse, 7), 1.0 / 7);
}

TEST(Modulation, ExponentialFallsWithWhatIsMissedBeyondTheExpected) {
  EXPECT_DOUBLE_EQ(Scale(Modulation::kExponential, 7), 1);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kExponential, 14), std::exp(-1.0));
  EXPECT_DOUBLE_EQ(Scale(Modulation::kExponential, 21, 8, 0.5), std::exp(-1.0));
  // The same for any number of workers: twice the expected.
  EXPECT_DOUBLE_EQ(Scale(Modulation::kExponential, 30, 16), Scale(Modulation::kExponential, 14, 8));
}

TEST(Modulation, ProgressGapIsTheShareOfTheFastestWorkersPace) {
  EXPECT_DOUBLE_EQ(Scale(Modulation::kProgressGap, 100, 8, 1, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(Scale(Modulation::kProgressGap, 100, 8, 2, 0.5), 0.25);
}

TEST(Modulation, NoneLeavesAllOfIt) { EXPECT_DOUBLE_EQ(Scale(Modulation::kNone, 1000), 1); }

TEST(Modulation, TheOnlyWorkerPushesAllOfIt) {
  for (const Modulation rule : kAllRules) EXPECT_DOUBLE_EQ(Scale(rule, 50, 1), 1) << int(rule);
}

TEST(Modulation, EveryRuleStaysWithinItsBoundsAndNeverGrowsWithLateness) {
  for (const Modulation rule : kAllRules) {
    for (uint32_t workers = 1; workers <= 64; workers *= 2) {
      double before = 1;
      for (uint64_t missed = 0; missed < 300; ++missed) {
        const double scale = Scale(rule, missed, workers);
        EXPECT_GE(scale, 0.0625);
        EXPECT_LE(scale, before);
        before = scale;
      }
    }
  }
}

TEST(Pace, IsTheShareOfTheFastestWorkersStepsInTheLastWindows) {
  Pace pace;
  pace.Join(WorkerId(0));
  pace.Join(WorkerId(1));
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 4; ++i) pace.Step(WorkerId(0));
    pace.Step(WorkerId(1));
  }
  EXPECT_DOUBLE_EQ(pace.Of(WorkerId(0)), 1);
  EXPECT_NEAR(pace.Of(WorkerId(1)), 0.25, 0.06);
}

TEST(Pace, ForgetsAndForgives) {
  Pace pace;
  pace.Join(WorkerId(0));
  pace.Join(WorkerId(1));
  for (int i = 0; i < 1000; ++i) pace.Step(WorkerId(0));
  EXPECT_DOUBLE_EQ(pace.Of(WorkerId(1)), 0);
  for (int i = 0; i < 100; ++i) {
    pace.Step(WorkerId(0));
    pace.Step(WorkerId(1));
  }
  EXPECT_NEAR(pace.Of(WorkerId(1)), 1, 0.07);
}

TEST(Pace, KnowsNothingOfAJoinerUntilAWholeWindowHasPassed) {
  Pace pace;
  pace.Join(WorkerId(0));
  for (int i = 0; i < 30; ++i) pace.Step(WorkerId(0));
  pace.Join(WorkerId(1));
  for (uint64_t i = 0; i < Pace::kStepsAWorker; ++i) pace.Step(WorkerId(0));
  EXPECT_DOUBLE_EQ(pace.Of(WorkerId(1)), 1);
  for (uint64_t i = 0; i < 4 * Pace::kStepsAWorker; ++i) pace.Step(WorkerId(0));
  EXPECT_DOUBLE_EQ(pace.Of(WorkerId(1)), 0);
}

TEST(Pace, OfWhoLeftIsForgotten) {
  Pace pace;
  pace.Join(WorkerId(0));
  pace.Join(WorkerId(1));
  for (int i = 0; i < 100; ++i) pace.Step(WorkerId(0));
  pace.Leave(WorkerId(0));
  for (int i = 0; i < 30; ++i) pace.Step(WorkerId(1));
  EXPECT_DOUBLE_EQ(pace.Of(WorkerId(1)), 1);
  EXPECT_DOUBLE_EQ(pace.Of(WorkerId(0)), 1);
}

}  // namespace
}  // namespace paceline::sync
