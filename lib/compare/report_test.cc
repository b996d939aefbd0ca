#include "lib/compare/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::compare {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<ArmRun> SomeRuns() {
  std::vector<ArmRun> runs;
  for (const int64_t seed : {1, 2}) {
    runs.push_back({.scheme = "bsp",
                    .seed = seed,
                    .reached = true,
                    .seconds_to_target = 10.0 + static_cast<double>(seed),
                    .steps = 100,
                    .step_seconds_p50 = 0.1,
                    .compute_share = 0.75,
                    .injected_share = 0.5,
                    .samples_per_second = 640,
                    .accuracy = 0.975,
                    .bytes_per_step = 120000,
                    .cores = 0.5,
                    .load_average = 2});
    runs.push_back({.scheme = "backup:1",
                    .seed = seed,
                    .reached = true,
                    .seconds_to_target = 5.0 + static_cast<double>(seed),
                    .steps = 120,
                    .step_seconds_p50 = 0.05,
                    .compute_share = 0.875,
                    .samples_per_second = 1280,
                    .dropped = 0.25,
                    .cores = 0.75});
  }
  return runs;
}

TEST(Report, TableHasARowAnArmAndSaysWhoWon) {
  const std::string text = TableText(SomeRuns(), "Accuracy >= 0.97");
  EXPECT_THAT(text, HasSubstr("goal: Accuracy >= 0.97"));
  EXPECT_THAT(text,
              HasSubstr("bsp       2/2/2  11.5 (11.0-12.0)  100    100.0    75.0       50.0  "));
  EXPECT_THAT(text,
              HasSubstr("backup:1  2/2/2  6.5 (6.0-7.0)     120    50.0     87.5       0.0  "));
  EXPECT_THAT(text, HasSubstr("0.50   97.50       0.120\n"));
  EXPECT_THAT(text, HasSubstr("0.75   -           0.000\n"));
  EXPECT_THAT(text, HasSubstr("backup:1 against bsp: faster\n"));
  EXPECT_THAT(text, HasSubstr("backup:1 wins"));
}

TEST(Report, TableRefusesToCallAnOverlapAWin) {
  std::vector<ArmRun> runs = SomeRuns();
  runs[1].seconds_to_target = 11.5;
  const std::string text = TableText(runs, "Accuracy >= 0.97");
  EXPECT_THAT(text, HasSubstr("backup:1 against bsp: no win: ranges overlap\n"));
  EXPECT_THAT(text, HasSubstr("no winner: the ranges of backup:1 and bsp overlap\n"));
  EXPECT_THAT(text, Not(HasSubstr("wins")));
}

TEST(Report, TableSaysWhichRunsDoNotCount) {
  std::vector<ArmRun> runs = SomeRuns();
  runs[0].cores = 1.75;
  runs[1].problem = "backup:1 failed: worker 1";
  const std::string text = TableText(runs, "15 epochs");
  EXPECT_THAT(text, HasSubstr("bsp with seed 1 does not count: its processes used 1.75 cores"));
  EXPECT_THAT(text, HasSubstr("backup:1 with seed 1 does not count: backup:1 failed: worker 1"));
  EXPECT_THAT(text, HasSubstr("1/1/2"));
}

TEST(Report, JsonIsAListOfRunsWithTheirFields) {
  std::vector<ArmRun> runs = SomeRuns();
  runs[1].reached = false;
  runs[1].seconds_to_target.reset();
  const auto list = nlohmann::json::parse(RunsJson(runs));
  ASSERT_EQ(list.size(), 4);
  for (const nlohmann::json& run : list) {
    for (const char* const field :
         {"scheme", "seed", "reached", "seconds_to_target", "steps", "step_seconds_p50",
          "compute_share", "samples_per_second", "dropped", "injected_share", "cores", "accuracy",
          "bytes_per_step", "load_average", "counts", "problem"}) {
      EXPECT_TRUE(run.contains(field)) << field;
    }
    EXPECT_EQ(run.size(), 16);
  }
  EXPECT_EQ(list[0]["scheme"], "bsp");
  EXPECT_EQ(list[0]["seconds_to_target"], 11);
  EXPECT_EQ(list[0]["counts"], true);
  EXPECT_EQ(list[0]["injected_share"], 0.5);
  EXPECT_EQ(list[1]["reached"], false);
  EXPECT_TRUE(list[1]["seconds_to_target"].is_null());
  EXPECT_EQ(list[0]["accuracy"], 0.975);
  EXPECT_TRUE(list[1]["accuracy"].is_null());
  EXPECT_EQ(list[1]["dropped"], 0.25);
}

TEST(Report, CsvHasAHeaderAndARowARun) {
  std::vector<ArmRun> runs = SomeRuns();
  runs.resize(2);
  runs[1].problem = "it said \"no\", twice";
  EXPECT_EQ(RunsCsv(runs),
            "scheme,seed,reached,seconds_to_target,steps,step_seconds_p50,compute_share,"
            "samples_per_second,dropped,injected_share,cores,accuracy,bytes_per_step,"
            "load_average,counts,problem\n"
            "bsp,1,true,11.0,100,0.1,0.75,640.0,0.0,0.5,0.5,0.975,120000.0,2.0,true,\n"
            "backup:1,1,true,6.0,120,0.05,0.875,1280.0,0.25,0.0,0.75,,0.0,0.0,false,"
            "\"it said \"\"no\"\", twice\"\n");
}

}  // namespace
}  // namespace paceline::compare
