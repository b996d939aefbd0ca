// What a plan makes of a job that finds too few machines.
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::HasSubstr;

// Parameter servers and one worker run, the second of two that are needed finds no machine.
Observation HalfPlaced() {
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kStartup;
  for (SeenProcess& process : seen.processes) {
    if (process.role != Role::kWorker || process.index == 0) continue;
    process.state = ProcessState::kPending;
    process.is_unschedulable = true;
    process.started_at = At(0);
  }
  return seen;
}

size_t Stops(const Plan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.actions.begin(), plan.actions.end(),
                    [](const Action& action) { return std::holds_alternative<Stop>(action); }));
}

TEST(GiveWayTest, AJobThatCannotStartMakesRoomAndComesBack) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.schedule_timeout_seconds = 10;
  Observation seen = HalfPlaced();
  EXPECT_EQ(PlanJob(job, seen, At(45)).status.gave_way, 0);
  const Plan gives_way = PlanJob(job, seen, At(51));
  EXPECT_EQ(Stops(gives_way), seen.processes.size());
  EXPECT_EQ(gives_way.status.gave_way, 1);
  ASSERT_TRUE(gives_way.status.gives_way_until.has_value());
  EXPECT_EQ(gives_way.requeue_at, gives_way.status.gives_way_until);
  EXPECT_EQ(FindCondition(gives_way.status, ConditionType::kResourcesReady)->reason, "GaveWay");

  Observation empty;
  empty.status = gives_way.status;
  const Plan waits = PlanJob(job, empty, *gives_way.status.gives_way_until - Seconds(1));
  EXPECT_TRUE(waits.actions.empty());
  const Plan tries = PlanJob(job, empty, *gives_way.status.gives_way_until);
  EXPECT_EQ(tries.actions.size(), 6u);  // All of it, at once.
  EXPECT_FALSE(tries.status.gives_way_until.has_value());
  EXPECT_EQ(tries.status.gave_way, 1);  // Until it trains: the next pause is longer.
}

// Who admits pods one by one can let in halves of two jobs.
TEST(GiveWayTest, AJobThatIsLetInByHalvesMakesRoomAfterAWhile) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.schedule_timeout_seconds = 10;
  Observation seen = HalfPlaced();
  for (SeenProcess& process : seen.processes) {
    process.is_gated = std::exchange(process.is_unschedulable, false);
    if (process.state == ProcessState::kRunning) process.started_at = At(1000);
  }
  const Plan waits = PlanJob(job, seen, At(1049));
  EXPECT_EQ(waits.status.gave_way, 0);
  EXPECT_EQ(waits.requeue_at, At(1050));
  const Plan gives_way = PlanJob(job, seen, At(1050));
  EXPECT_EQ(Stops(gives_way), seen.processes.size());
  ASSERT_FALSE(gives_way.events.empty());
  EXPECT_THAT(gives_way.events[0].message,
              HasSubstr("digits-worker-1 is held back by its scheduling gates; all of the job"));
}

TEST(GiveWayTest, TwoJobsComeBackAtDifferentTimes) {
  TrainingJob one = SmallJob(), other = SmallJob();
  other.metadata.uid = "another";
  const Time at = At(1000);
  EXPECT_NE(PlanJob(one, HalfPlaced(), at).status.gives_way_until,
            PlanJob(other, HalfPlaced(), at).status.gives_way_until);
}

TEST(GiveWayTest, NoPauseIsForEver) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.schedule_timeout_seconds = 1'000'000;  // As far as it goes.
  Observation seen = HalfPlaced();
  seen.status.gave_way = 100;
  const Time at = At(5'000'001);
  const Plan plan = PlanJob(job, seen, at);
  ASSERT_TRUE(plan.status.gives_way_until.has_value());
  EXPECT_GT(*plan.status.gives_way_until, at);
  EXPECT_LE(*plan.status.gives_way_until - at, std::chrono::hours(2));
}

// A machine may be on its way, and would come for nobody.
TEST(GiveWayTest, AJobThatWaitsAloneKeepsItsPlaceForLonger) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.schedule_timeout_seconds = 10;
  Observation seen = HalfPlaced();
  seen.others_wait = false;
  const Plan waits = PlanJob(job, seen, At(599));
  EXPECT_EQ(waits.status.gave_way, 0);
  EXPECT_TRUE(waits.actions.empty());  // Nor is a pod of it made anew.
  // Others may come at any time.
  EXPECT_LE(*PlanJob(job, seen, At(100)).requeue_at, At(130));
  EXPECT_EQ(PlanJob(job, seen, At(20)).requeue_at, At(50));
  const Plan gives_way = PlanJob(job, seen, At(600));
  EXPECT_EQ(Stops(gives_way), seen.processes.size());
  seen.status.gave_way = 1;  // The next time it waits twice as long.
  EXPECT_EQ(PlanJob(job, seen, At(1199)).status.gave_way, 1);
  EXPECT_EQ(PlanJob(job, seen, At(1200)).status.gave_way, 2);
  seen.others_wait = true;
  EXPECT_EQ(PlanJob(job, seen, At(100)).status.gave_way, 2);
}

TEST(GiveWayTest, AJobThatRoomIsMadeForWaitsForIt) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.schedule_timeout_seconds = 10;
  Observation seen = HalfPlaced();
  seen.room_promised_at = At(30);
  const double comes = 30 + ToSeconds(kRoomComesWithin);
  const Plan waits = PlanJob(job, seen, At(comes - 1));
  EXPECT_EQ(waits.status.gave_way, 0);
  EXPECT_TRUE(waits.actions.empty());
  EXPECT_EQ(PlanJob(job, seen, At(comes)).status.gave_way, 1);
  // Not for ever, however often that is said.
  const double last = 50 + 3 * ToSeconds(kRoomComesWithin);
  seen.room_promised_at = At(last - 1);
  EXPECT_EQ(PlanJob(job, seen, At(last - 1)).status.gave_way, 0);
  EXPECT_EQ(PlanJob(job, seen, At(last + 1)).status.gave_way, 1);
  seen.room_promised_at = At(30);
  // The same where nothing of it has a machine: its pods wait as they are.
  for (SeenProcess& process : seen.processes) {
    process.state = ProcessState::kPending;
    process.is_unschedulable = true;
    process.started_at = At(0);
  }
  EXPECT_TRUE(PlanJob(job, seen, At(comes - 1)).actions.empty());
  EXPECT_FALSE(PlanJob(job, seen, At(comes + 1)).actions.empty());
}

TEST(GiveWayTest, WhoTrainsOrHasEnoughOrIsAdmittedByOthersGivesNoWay) {
  const Time late = At(1000);
  Observation trains = HalfPlaced();
  trains.coordinator->phase = TrainingPhase::kTraining;
  EXPECT_EQ(PlanJob(SmallJob(), trains, late).status.gave_way, 0);
  TrainingJob modest = SmallJob();
  modest.spec.workers.min_replicas = 1;
  EXPECT_EQ(PlanJob(modest, HalfPlaced(), late).status.gave_way, 0);
  TrainingJob queued = SmallJob();
  queued.spec.run_policy.scheduling_policy.queue = "research";
  const PlanOptions gangs = {.gangs = GangPlacement::kByScheduler};
  EXPECT_EQ(PlanJob(queued, HalfPlaced(), late, gangs).status.gave_way, 0);
  Observation holds_nothing = HalfPlaced();
  for (SeenProcess& process : holds_nothing.processes) {
    process.state = ProcessState::kPending;
    process.is_unschedulable = true;
    process.started_at = At(0);
  }
  EXPECT_EQ(PlanJob(SmallJob(), holds_nothing, late).status.gave_way, 0);
  for (SeenProcess& process : holds_nothing.processes)
    process.is_gated = std::exchange(process.is_unschedulable, false);
  EXPECT_EQ(PlanJob(SmallJob(), holds_nothing, late).status.gave_way, 0);
  Observation lacks_other_things = HalfPlaced();
  for (SeenProcess& process : lacks_other_things.processes) {
    if (process.role == Role::kEvaluator) process.state = ProcessState::kPending;
    process.is_unschedulable = process.role == Role::kEvaluator;
  }
  EXPECT_EQ(PlanJob(SmallJob(), lacks_other_things, late).status.gave_way, 0);
}

}  // namespace
}  // namespace paceline::job
