#include "tests/soak/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::soak {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

JobResult Well() {
  JobResult job;
  job.plan = PlanOf(7, 5);
  job.faults = {{{Role::kWorker, Kind::kKill}, "worker-1", 0, 1.25},
                {{Role::kWorker, Kind::kKill}, "worker-0", 0, 3.5},
                {{Role::kDisk, Kind::kFill}, "disk", 2, 0.5}};
  job.missed = 2;
  job.longest_stand_still_seconds = 3.5;
  job.roll_backs = 2;
  job.steps_lost = 40;
  job.samples = 21555;
  job.accuracy = 0.97;
  job.calm_least = 0.96;
  job.calm_most = 0.97;
  return job;
}

SoakResult Of(JobResult job) {
  return {.seed = 7, .minutes = 2, .jobs = {Well(), std::move(job)}, .left_out = {}};
}

TEST(Report, JobsThatWentWellAreGood) {
  const SoakResult result = Of(Well());
  EXPECT_TRUE(IsGood(result));
  EXPECT_THAT(Table(result), HasSubstr("worker       kill            4  3.5\n"));
  EXPECT_THAT(Table(result),
              HasSubstr("6 faults, 0 at least of each role and kind; 4 more found no target\n"
                        "longest stand-still 3.5 s; 4 roll-backs, 80 steps lost; 43110 samples "
                        "counted\n0 hangs, 0 wrong ledgers, 0 jobs lost, 0 below"));
  EXPECT_THAT(Table(result), Not(HasSubstr("again:")));
  EXPECT_FALSE(IsGood({})) << "without a job nothing was shown";
}

TEST(Report, HangsLossesLedgersAndAccuraciesAreToldWithTheCommandThatPlaysThemAgain) {
  JobResult hung = Well(), lost = Well(), wrong = Well(), inaccurate = Well();
  hung.ending = Ending::kHung;
  hung.why = "no step for 60 s";
  lost.ending = Ending::kLost;
  lost.why = "code 1";
  wrong.wrong = {"epoch 3: 2 samples count twice"};
  inaccurate.accuracy = 0.92;
  struct Case {
    JobResult job;
    std::string complaint, total;
  };
  for (const Case& c :
       {Case{hung, "hung: no step for 60 s", "1 hangs, 0 wrong ledgers, 0 jobs lost, 0 below"},
        Case{lost, "lost: code 1", "0 hangs, 0 wrong ledgers, 1 jobs lost, 0 below"},
        Case{wrong, "wrong ledger: epoch 3: 2 samples count twice",
             "0 hangs, 1 wrong ledgers, 0 jobs lost, 0 below"},
        Case{inaccurate, "accuracy 0.9200, want 0.9300 at least",
             "0 hangs, 0 wrong ledgers, 0 jobs lost, 1 below"}}) {
    const SoakResult result = Of(c.job);
    EXPECT_FALSE(IsGood(result)) << c.complaint;
    EXPECT_THAT(Complaints(c.job), Contains(c.complaint));
    EXPECT_THAT(Table(result), HasSubstr(c.total));
    EXPECT_THAT(Table(result), HasSubstr("again: make soak ARGS='--seed 7 --round 2 --rounds 1'"));
  }
}

TEST(Report, AccuracyIsJudgedByTheSpreadOfRunsWithoutFaults) {
  JobResult job = Well();
  job.calm_least = 0.95;
  job.calm_most = 0.951;
  EXPECT_DOUBLE_EQ(LeastAccuracy(job), 0.92) << "as fine as the test set is";
  job.calm_most = 0.99;
  EXPECT_DOUBLE_EQ(LeastAccuracy(job), 0.91);
}

TEST(Report, JsonHasTheTablesNumbers) {
  SoakResult result = Of(Well());
  result.left_out = {"faults of disks: no"};
  const nlohmann::ordered_json json = Json(result);
  EXPECT_EQ(json["faults"], 6);
  EXPECT_EQ(json["foundNoTarget"], 4);
  EXPECT_EQ(json["good"], true);
  EXPECT_EQ(json["stepsLost"], 80);
  EXPECT_EQ(json["leftOut"][0], "faults of disks: no");
  EXPECT_EQ(json["byRoleAndKind"].size(), AllFaults().size());
  EXPECT_EQ(json["byRoleAndKind"][0]["role"], "worker");
  EXPECT_EQ(json["byRoleAndKind"][0]["faults"], 4);
  EXPECT_EQ(json["jobs"][1]["samples"], 21555);
  EXPECT_EQ(json["jobs"][1]["scheme"], PlanOf(7, 5).scheme.name);
}

}  // namespace
}  // namespace paceline::soak
