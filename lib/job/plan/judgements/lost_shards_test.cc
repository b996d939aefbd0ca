// What a plan does about parameter servers that run and that their coordinator has lost.
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

// The coordinator lost shard 1 so long ago, and waits for it.
Observation Lost(const TrainingJob& job, double seconds) {
  Observation seen = SettledTraining(job);
  seen.coordinator->phase = TrainingPhase::kStartup;
  seen.coordinator->lost_shards = {{1, "no heartbeat for 6 s", seconds, true}};
  return seen;
}

TEST(LostShards, StatusSaysWhoIsLostAndWhy) {
  const TrainingJob job = SmallJob();
  const Plan plan = PlanJob(job, Lost(job, 2), At(100), Recovering());
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_EQ(plan.requeue_at, At(108));
  EXPECT_EQ(Reason(plan, ConditionType::kRestarting),
            "True Recovering digits-ps-1 on node-1 is lost: no heartbeat for 6 s");
  EXPECT_EQ(plan.status.state, "Restarting");
}

TEST(LostShards, OneThatStaysAwayIsStartedAnewWithoutBeingAsked) {
  const TrainingJob job = SmallJob();
  Observation seen = Lost(job, 10);
  const Plan plan = PlanJob(job, seen, At(100), Recovering());
  EXPECT_THAT(Actions(plan), ElementsAre("stop digits-ps-1 ShardLost now"));
  EXPECT_THAT(Events(plan), Contains("Warning ShardLost: digits-ps-1 on node-1 runs, but the "
                                     "coordinator has lost it: no heartbeat for 6 s; it is started "
                                     "anew"));
  // It is gone.
  seen.status = plan.status;
  Remove(seen, "digits-ps-1");
  const Plan next = PlanJob(job, seen, At(101), Recovering());
  EXPECT_THAT(Actions(next), ElementsAre("start digits-ps-1 generation=1 attempt=1 failures=0"));
  // Its successor is given time, and a second one twice as much.
  seen.status = next.status;
  for (const auto& [attempt, due] :
       {std::pair(1, 222.0), std::pair(2, 342.0), std::pair(9, 402.0)}) {
    SeenProcess fresh = Running(Role::kParameterServer, 1, 102);
    fresh.attempt = attempt;
    Put(seen, fresh);
    seen.coordinator->lost_shards[0].seconds = due - 1 - 90;
    EXPECT_THAT(Actions(PlanJob(job, seen, At(due - 1), Recovering())), IsEmpty()) << attempt;
    seen.coordinator->lost_shards[0].seconds = due - 90;
    EXPECT_THAT(Actions(PlanJob(job, seen, At(due), Recovering())),
                ElementsAre("stop digits-ps-1 ShardLost now"))
        << attempt;
  }
}

// The report is of the one before: nobody has asked since.
TEST(LostShards, OldWordDoesNotHitTheSuccessor) {
  const TrainingJob job = SmallJob();
  Observation seen = Lost(job, 12);
  SeenProcess fresh = Running(Role::kParameterServer, 1, 102);
  fresh.attempt = 1;
  Put(seen, fresh);
  EXPECT_THAT(Actions(PlanJob(job, seen, At(150), Recovering())), IsEmpty());
}

TEST(LostShards, OneThatNeverCameIsGivenTimeToFindItsCoordinator) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->phase = TrainingPhase::kStartup;
  seen.coordinator->lost_shards = {{1, "it has not registered", 59, false}};
  const Plan plan = PlanJob(job, seen, At(59), Recovering());
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_THAT(Reason(plan, ConditionType::kRestarting), HasSubstr("False"));
  seen.coordinator->lost_shards[0].seconds = 60;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(60), Recovering())),
              ElementsAre("stop digits-ps-1 ShardLost now"));
}

// Itself started anew, it knows nobody, however long they have been there.
TEST(LostShards, NewCoordinatorWaitsForThoseThatAreThere) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->phase = TrainingPhase::kStartup;
  seen.coordinator->lost_shards = {{1, "it has not registered", 1, false}};
  EXPECT_THAT(Actions(PlanJob(job, seen, At(5000), Recovering())), IsEmpty());
  seen.coordinator->lost_shards[0].seconds = 60;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(5059), Recovering())),
              ElementsAre("stop digits-ps-1 ShardLost now"));
}

TEST(LostShards, WhoeverHasEndedOrDoesNotRunYetIsOtherJudgementsMatter) {
  const TrainingJob job = SmallJob();
  Observation seen = Lost(job, 100);
  Put(seen, Exited(Role::kParameterServer, 1, 99, 0, 9));
  EXPECT_THAT(Actions(PlanJob(job, seen, At(100), Recovering())),
              ElementsAre("start digits-ps-1 generation=1 attempt=1 failures=1"));
  SeenProcess pending = Running(Role::kParameterServer, 1, 90);
  pending.state = ProcessState::kPending;
  Put(seen, pending);
  EXPECT_THAT(Actions(PlanJob(job, seen, At(100), Recovering())), IsEmpty());
}

TEST(LostShards, AScriptThatOthersWaitForDegradesNothing) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->standstill = "others wait for worker 1";
  const Plan plan = PlanJob(job, seen, At(100), Recovering());
  EXPECT_EQ(plan.status.state, "Running");
  EXPECT_EQ(plan.status.standstill, "others wait for worker 1");
}

TEST(LostShards, ShardThatTrainingStandsStillForIsSaidBeforeItIsLost) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->standstill = "shard s1 has done no block of version 341 for over 10 s";
  seen.coordinator->is_shard_stalled = true;
  const Plan plan = PlanJob(job, seen, At(100), Recovering());
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_EQ(Reason(plan, ConditionType::kDegraded),
            "True ShardStalled shard s1 has done no block of version 341 for over 10 s");
  EXPECT_EQ(plan.status.state, "Degraded");
  EXPECT_EQ(plan.status.standstill, "shard s1 has done no block of version 341 for over 10 s");
  // It goes on.
  seen.status = plan.status;
  seen.coordinator->standstill.clear();
  EXPECT_EQ(PlanJob(job, seen, At(101), Recovering()).status.standstill, "");
}

// It was sent home by a coordinator that was lost before anybody heard that training was over.
TEST(LostShards, OneThatEndedWellIsStartedAgainForACoordinatorThatGoesOn) {
  Observation seen = AllTraining();
  Put(seen, Exited(Role::kParameterServer, 1, 9, 0));
  seen.coordinator->phase = TrainingPhase::kStartup;
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(9.5), Recovering())), IsEmpty());
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(10), Recovering())),
              ElementsAre("start digits-ps-1 generation=1 attempt=1 failures=1"));
  // It does not count against it that a former one sent it home; nor against workers.
  seen.status.coordinator_starts = 2;
  seen.coordinator->generation_start = 2;
  Put(seen, Exited(Role::kWorker, 0, 9, 0));
  for (const char* const name : {"digits-ps-1", "digits-worker-0"})
    Find(seen, name).generation_start = 1;
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(10), Recovering())),
              ElementsAre("start digits-ps-1 generation=2 attempt=1 failures=0",
                          "start digits-worker-0 generation=2 attempt=1 failures=0"));
  // Nobody is needed any more where it says so, and nobody knows where it says nothing.
  seen.coordinator->phase = TrainingPhase::kFinishing;
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(10), Recovering())), IsEmpty());
  seen.coordinator.reset();
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(10), Recovering())), IsEmpty());
}

}  // namespace
}  // namespace paceline::job
