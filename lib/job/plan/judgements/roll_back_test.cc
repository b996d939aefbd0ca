// What a plan tells of training that went back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PlanOptions Recovering() {
  PlanOptions options;
  options.can_recover_shards = true;
  return options;
}

// All trains, and step 340 has been told of.
Observation TrainingAt340(const TrainingJob& job) {
  Observation seen = AllTraining();
  seen.coordinator->progress = Progress{.step = 340};
  seen.status = PlanJob(job, seen, At(2)).status;
  return seen;
}

TEST(RollBack, OfALostShardIsToldOnceWithWhatItCosts) {
  const TrainingJob job = SmallJob();
  Observation seen = TrainingAt340(job);
  EXPECT_FALSE(seen.status.recovery.has_value());
  Put(seen, Exited(Role::kParameterServer, 1, 10, 0, 9));
  seen.status = PlanJob(job, seen, At(11), Recovering()).status;
  Put(seen, Running(Role::kParameterServer, 1, 12));
  seen.coordinator->phase = TrainingPhase::kStartup;
  seen.coordinator->progress->step = 320;
  seen.coordinator->roll_backs = 1;
  seen.coordinator->last_roll_back = "shard s1 lost: gone; back to version 320, checkpoint c";
  seen.coordinator->rolled_back_from = 345;
  seen.coordinator->rolled_back_to = 320;
  const Plan back = PlanJob(job, seen, At(13), Recovering());
  const std::string words =
      "rolled back: shard s1 lost: gone; back to version 320, checkpoint c; 25 steps are computed "
      "again";
  EXPECT_THAT(Events(back), ElementsAre("Warning RolledBack: " + words,
                                        "Normal AllRunning: all 6 processes run"));
  const Condition& restarting = *FindCondition(back.status, ConditionType::kRestarting);
  EXPECT_EQ(restarting.reason, "Recovering");
  EXPECT_EQ(restarting.message,
            "digits-ps-1 was killed by signal 9 (failure 1, backoffLimit allows 6); " + words);
  ASSERT_TRUE(back.status.recovery.has_value());
  EXPECT_EQ(back.status.recovery->roll_backs, 1);
  EXPECT_EQ(back.status.recovery->from_version, 345);
  EXPECT_EQ(back.status.recovery->to_version, 320);
  EXPECT_EQ(back.status.recovery->time, At(13));
  seen.status = back.status;
  EXPECT_THAT(Events(PlanJob(job, seen, At(14), Recovering())), IsEmpty());
  seen.coordinator->phase = TrainingPhase::kTraining;
  const Plan trains = PlanJob(job, seen, At(15), Recovering());
  EXPECT_THAT(Events(trains), ElementsAre("Normal Recovered: the parameter servers are back, "
                                          "training goes on from version 320"));
  // A later restart of somebody else goes back nowhere.
  seen.status = trains.status;
  Put(seen, Exited(Role::kWorker, 1, 20, 0, 9));
  seen.status = PlanJob(job, seen, At(21), Recovering()).status;
  EXPECT_EQ(seen.status.recovery, trains.status.recovery);
}

TEST(RollBack, WhatAllOfThemCostIsCountedOverAllCoordinators) {
  const TrainingJob job = SmallJob();
  Observation seen = TrainingAt340(job);
  seen.coordinator->roll_backs = 1;
  seen.coordinator->rolled_back_from = 345;
  seen.coordinator->rolled_back_to = 320;
  seen.coordinator->lost_steps = 25;
  seen.coordinator->lost_seconds = 12.5;
  seen.coordinator->progress->step = 320;
  seen.status = PlanJob(job, seen, At(3)).status;
  EXPECT_THAT(seen.status.recovery->message, HasSubstr("; 25 steps (12.5 s of training) are"));
  // Twice between two answers.
  seen.coordinator->roll_backs = 3;
  seen.coordinator->rolled_back_from = 330;
  seen.coordinator->lost_steps = 45;
  seen.coordinator->lost_seconds = 20;
  seen.status = PlanJob(job, seen, At(4)).status;
  EXPECT_EQ(seen.status.recovery->roll_backs, 3);
  EXPECT_EQ(seen.status.recovery->lost_steps, 45);
  EXPECT_EQ(seen.status.recovery->lost_seconds, 20);
  // The coordinator dies at 340, two minutes after its checkpoint of 320 was complete.
  seen.status.progress = Progress{.step = 340, .last_update_time = At(500)};
  seen.status.checkpoint = CheckpointStatus{.version = 320, .completion_time = At(380)};
  seen.status.coordinator_starts = 2;
  seen.coordinator = CoordinatorReport{
      .generation_start = 2, .progress = Progress{.step = 320}, .restored_from = 320};
  seen.status = PlanJob(job, seen, At(600)).status;
  EXPECT_EQ(seen.status.recovery->roll_backs, 4);
  EXPECT_EQ(seen.status.recovery->lost_steps, 65);
  EXPECT_EQ(seen.status.recovery->lost_seconds, 140);
}

TEST(RollBack, OfALostCoordinatorIsKnownByItsSteps) {
  const TrainingJob job = SmallJob();
  Observation seen = TrainingAt340(job);
  Put(seen, Exited(Role::kParameterServer, 0, 10, 0, 9));
  seen.coordinator.reset();
  seen.status = PlanJob(job, seen, At(11), Recovering()).status;
  ASSERT_EQ(seen.status.coordinator_starts, 2);
  Put(seen, Running(Role::kParameterServer, 0, 12));
  seen.coordinator.emplace();
  seen.coordinator->generation_start = 2;
  seen.coordinator->progress = Progress{.step = 320};
  seen.coordinator->restored_from = 320;
  const Plan back = PlanJob(job, seen, At(13), Recovering());
  EXPECT_THAT(Events(back),
              ElementsAre("Warning RolledBack: rolled back: another coordinator goes on from "
                          "version 320; 20 steps are computed again",
                          "Normal AllRunning: all 6 processes run"));
  // It then goes back itself, and its successor once more: all are counted.
  seen.status = back.status;
  seen.coordinator->roll_backs = 2;
  seen.coordinator->rolled_back_from = 321;
  seen.coordinator->rolled_back_to = 320;
  seen.coordinator->last_roll_back = "w0 pushed no numbers";
  const Plan again = PlanJob(job, seen, At(14), Recovering());
  EXPECT_THAT(Events(again), ElementsAre("Warning RolledBack: rolled back: w0 pushed no numbers; 1 "
                                         "step is computed again"));
  EXPECT_EQ(again.status.recovery->roll_backs, 3);
  seen.status = again.status;
  seen.status.coordinator_starts = 3;
  seen.coordinator = CoordinatorReport{.generation_start = 3, .progress = Progress{.step = 0}};
  const Plan anew = PlanJob(job, seen, At(15), Recovering());
  EXPECT_EQ(anew.status.recovery->roll_backs, 4);
  EXPECT_EQ(anew.status.recovery->to_version, 0);
  EXPECT_THAT(anew.status.recovery->message, HasSubstr("no checkpoint to go on from; 320 steps"));
}

// Its predecessor had told of 340, saved 342, and died: the new one is at 350 when it is asked
// first.
TEST(RollBack, OfALostCoordinatorIsToldThoughStepsNeverSeemedToFall) {
  const TrainingJob job = SmallJob();
  Observation seen = TrainingAt340(job);
  Put(seen, Exited(Role::kParameterServer, 0, 10, 0, 9));
  seen.coordinator.reset();
  seen.status = PlanJob(job, seen, At(11), Recovering()).status;
  Put(seen, Running(Role::kParameterServer, 0, 12));
  seen.coordinator.emplace();
  seen.coordinator->generation_start = 2;
  seen.coordinator->phase = TrainingPhase::kTraining;
  seen.coordinator->progress = Progress{.step = 350};
  seen.coordinator->restored_from = 342;
  const Plan back = PlanJob(job, seen, At(13), Recovering());
  EXPECT_THAT(Events(back), Contains("Warning RolledBack: rolled back: another coordinator goes on "
                                     "from version 342"));
  EXPECT_EQ(back.status.recovery->roll_backs, 1);
  EXPECT_EQ(back.status.recovery->from_version, 342);
  seen.status = back.status;
  EXPECT_EQ(PlanJob(job, seen, At(14), Recovering()).status.recovery, back.status.recovery);
}

TEST(RollBack, OfNumbersThatAreNotFiniteIsToldThoughNobodyIsLost) {
  const TrainingJob job = SmallJob();
  Observation seen = TrainingAt340(job);
  seen.coordinator->roll_backs = 1;
  seen.coordinator->last_roll_back = "half of the pushes are not finite";
  const Plan plan = PlanJob(job, seen, At(3));
  EXPECT_THAT(Events(plan), ElementsAre(HasSubstr("RolledBack: rolled back: half of the pushes")));
  EXPECT_EQ(plan.status.state, "Running");
}

}  // namespace
}  // namespace paceline::job
