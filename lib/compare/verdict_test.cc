#include "lib/compare/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::compare {
namespace {

ArmRun Run(const std::string& arm, int64_t seed, double seconds) {
  return {.scheme = arm, .seed = seed, .reached = true, .seconds_to_target = seconds, .cores = 1};
}

std::vector<ArmRun> Runs(std::vector<double> bsp, std::vector<double> asp) {
  std::vector<ArmRun> runs;
  for (size_t i = 0; i < bsp.size(); ++i)
    runs.push_back(Run("bsp", static_cast<int64_t>(i), bsp[i]));
  for (size_t i = 0; i < asp.size(); ++i)
    runs.push_back(Run("asp", static_cast<int64_t>(i), asp[i]));
  return runs;
}

TEST(Verdict, AWinIsOneWithoutOverlap) {
  const std::vector<ArmRun> runs = Runs({10, 11, 12}, {7, 9.9, 8});
  EXPECT_EQ(Judge(runs, "asp", "bsp"), Verdict::kFaster);
  EXPECT_EQ(Judge(runs, "bsp", "asp"), Verdict::kSlower);
  EXPECT_EQ(WinnerInWords(runs),
            "asp wins: each of its 3 runs was faster than every run of the others");
}

TEST(Verdict, OverlappingRangesAreNoWin) {
  // The medians are far apart, one run of each is not.
  const std::vector<ArmRun> runs = Runs({10, 20, 21}, {5, 6, 10});
  EXPECT_EQ(Judge(runs, "asp", "bsp"), Verdict::kOverlap);
  EXPECT_EQ(Judge(runs, "bsp", "asp"), Verdict::kOverlap);
  EXPECT_EQ(WinnerInWords(runs), "no winner: the ranges of asp and bsp overlap");
}

TEST(Verdict, OneRunHasNoRange) {
  const std::vector<ArmRun> runs = Runs({10, 11}, {1});
  EXPECT_EQ(Judge(runs, "asp", "bsp"), Verdict::kTooFewRuns);
  EXPECT_THAT(WinnerInWords(runs), ::testing::HasSubstr("no winner: too few runs"));
}

TEST(Verdict, RunsThatUsedTooMuchOfTheMachineDoNotCount) {
  std::vector<ArmRun> runs = Runs({10, 11, 12}, {7, 8, 11.5});
  runs.back().cores = 1.5;
  EXPECT_FALSE(runs.back().counts());
  EXPECT_EQ(Judge(runs, "asp", "bsp"), Verdict::kFaster);
  EXPECT_EQ(SecondsToTarget(runs, "asp").most, 8);
  runs[4].problem = "the job failed";
  EXPECT_EQ(Judge(runs, "asp", "bsp"), Verdict::kTooFewRuns);
}

TEST(Verdict, MissingTheGoalIsSlowerThanAnyTime) {
  std::vector<ArmRun> runs = Runs({10, 11, 12}, {7, 8, 9});
  runs.back().reached = false;
  runs.back().seconds_to_target.reset();
  EXPECT_EQ(Judge(runs, "asp", "bsp"), Verdict::kOverlap);
  const Range range = SecondsToTarget(runs, "asp");
  EXPECT_EQ(range.runs, 2);
  EXPECT_EQ(range.most, 8);
}

TEST(Verdict, OneArmHasNobodyToWinAgainst) {
  EXPECT_EQ(WinnerInWords(Runs({1, 2}, {})), "nothing to compare: one arm");
}

}  // namespace
}  // namespace paceline::compare
