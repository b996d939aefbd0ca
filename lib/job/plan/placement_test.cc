// What a plan makes of who waits for a machine or is slow on one: where it starts next.
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

const PlanOptions kGangs = {.gangs = GangPlacement::kByScheduler};

TEST(JudgePending, SaysOnceWhatKeepsSeveral) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  for (const int64_t index : {0, 1, 2}) {
    SeenProcess waiting = Pending(index, 100);
    waiting.is_unschedulable = index != 1;
    waiting.is_gated = index == 1;
    waiting.waiting_message = "0/3 nodes are available: insufficient cpu";
    Put(seen, waiting);
  }
  EXPECT_THAT(
      Reason(PlanJob(job, seen, At(159)), ConditionType::kResourcesReady),
      HasSubstr("not running: digits-worker-0, digits-worker-2 cannot be scheduled: 0/3 "
                "nodes are available: insufficient cpu; digits-worker-1 is held back by its "
                "scheduling gates"));
  for (const int64_t index : {0, 1}) Remove(seen, fmt::format("digits-worker-{}", index));
  EXPECT_THAT(
      Reason(PlanJob(job, seen, At(159)), ConditionType::kResourcesReady),
      HasSubstr("not running: digits-worker-0, digits-worker-1; digits-worker-2 cannot be"));
}

TEST(JudgePending, ReportsAWorkerThatFindsNoRoomAndTrainsOn) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  SeenProcess waiting = Pending(2, 100);
  waiting.is_unschedulable = true;
  waiting.waiting_message = "0/3 nodes are available: insufficient nvidia.com/gpu";
  Put(seen, waiting);
  const Plan early = PlanJob(job, seen, At(159));
  EXPECT_EQ(early.requeue_at, At(160));
  EXPECT_THAT(Reason(early, ConditionType::kResourcesReady),
              HasSubstr("False Unschedulable not running: digits-worker-2 cannot be scheduled: 0/3 "
                        "nodes are available: insufficient nvidia.com/gpu"));
  const Plan late = PlanJob(job, seen, At(160));
  EXPECT_EQ(late.status.state, "Degraded");
  EXPECT_THAT(Reason(late, ConditionType::kDegraded),
              HasSubstr("True PendingTooLong not running: digits-worker-2 cannot be scheduled"));
  EXPECT_THAT(Actions(late), IsEmpty());
  EXPECT_EQ(late.requeue_at, At(220));
  const Plan due = PlanJob(job, seen, At(220));
  EXPECT_THAT(Actions(due), ElementsAre("stop digits-worker-2 PendingTooLong"));
  EXPECT_THAT(Events(due), Contains(HasSubstr("insufficient nvidia.com/gpu; it is made anew")));
}

TEST(JudgePending, WaitsTwiceAsLongEachTime) {
  const TrainingJob job = SmallJob();
  const struct {
    int64_t attempt;
    double due;
  } cases[] = {{0, 120}, {1, 240}, {2, 480}, {5, 3840}, {50, 3840}};
  for (const auto& c : cases) {
    Observation seen = SettledTraining(job);
    SeenProcess waiting = Pending(2, 0);
    waiting.attempt = c.attempt;
    waiting.waiting_reason = "CreateContainerConfigError";
    Put(seen, waiting);
    EXPECT_EQ(PlanJob(job, seen, At(c.due - 1)).requeue_at, At(c.due));
    EXPECT_EQ(PlanJob(job, seen, At(c.due)).actions.size(), 1u) << c.attempt;
  }
}

TEST(JudgePending, GivesALargeImageItsTime) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  SeenProcess pulling = Pending(2, 0);
  pulling.node = "node-3";
  Put(seen, pulling);
  const Plan late = PlanJob(job, seen, At(899));
  EXPECT_THAT(Actions(late), IsEmpty());
  EXPECT_EQ(late.status.state, "Degraded");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(900))),
              ElementsAre("stop digits-worker-2 PendingTooLong"));
}

TEST(JudgePending, LeavesTimeToGiveWayBeforeTrainingBegins) {
  const TrainingJob job = SmallJob();
  Observation seen;  // Nothing runs, so that there is nothing to give way with.
  SeenProcess waiting = Pending(2, 0);
  waiting.is_unschedulable = true;
  seen.processes = {waiting};
  EXPECT_THAT(Actions(PlanJob(job, seen, At(359))),
              ::testing::Not(Contains("stop digits-worker-2 PendingTooLong")));
  EXPECT_THAT(Actions(PlanJob(job, seen, At(360))),
              Contains("stop digits-worker-2 PendingTooLong"));
}

TEST(JudgePending, LeavesAPlaceInAQueueAlone) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.queue = "research";
  Observation seen = SettledTraining(job);
  SeenProcess waiting = Pending(2, 0);
  waiting.is_unschedulable = true;
  Put(seen, waiting);
  EXPECT_THAT(Actions(PlanJob(job, seen, At(9999), kGangs)), IsEmpty());
  // There is no queue where there is no gang scheduler.
  EXPECT_THAT(Actions(PlanJob(job, seen, At(9999))),
              ElementsAre("stop digits-worker-2 PendingTooLong"));
  Find(seen, "digits-worker-2").is_unschedulable = false;  // It has a machine, and hangs there.
  EXPECT_THAT(Actions(PlanJob(job, seen, At(9999), kGangs)),
              ElementsAre("stop digits-worker-2 PendingTooLong"));
}

TEST(JudgePending, SaysWhichImageCannotBePulledAndWhere) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.status = JobStatus{};
  seen.coordinator.reset();
  SeenProcess waiting = Pending(1, 0);
  waiting.node = "node-7";
  waiting.waiting_reason = "ImagePullBackOff";
  waiting.waiting_message = "Back-off pulling image \"nowhere/worker:1\"";
  Put(seen, waiting);
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_EQ(plan.status.state, "CannotStart");
  EXPECT_EQ(Reason(plan, ConditionType::kResourcesReady),
            "False CannotStart not running: digits-worker-1 on node-7 waits, ImagePullBackOff: "
            "Back-off pulling image \"nowhere/worker:1\"");
  EXPECT_THAT(Events(plan), Contains(HasSubstr("Warning CannotStart: not running")));
  // Made anew elsewhere.
  EXPECT_EQ(PlanJob(job, seen, At(120)).status.avoided_nodes,
            (std::vector<AvoidedNode>{{"digits-worker-1", "node-7", false}}));
}

TEST(JudgeStragglers, StartsTheSameNameOnAnotherMachine) {
  TrainingJob job = SmallJob();
  job.spec.workers.straggler_policy.action = StragglerAction::kReplace;
  Observation seen = SettledTraining(job);
  seen.coordinator->stragglers = {{2, 400}};
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_THAT(Actions(plan), ElementsAre("stop digits-worker-2 Straggler"));
  EXPECT_THAT(Events(plan), ElementsAre("Warning Straggler: digits-worker-2 on node-2 takes 4.0 "
                                        "times the median worker's time and is replaced"));
  EXPECT_EQ(Reason(plan, ConditionType::kStraggling),
            "True Straggler digits-worker-2 on node-2 takes 4.0 times the median worker's time");
  seen.status = plan.status;
  Remove(seen, "digits-worker-2");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(9))),
              ElementsAre("start digits-worker-2 generation=1 attempt=1 failures=0 avoid=node-2"));
}

TEST(JudgeStragglers, ReturnWhereNoOtherMachineHasRoomAndStayThere) {
  TrainingJob job = SmallJob();
  job.spec.workers.straggler_policy.action = StragglerAction::kReplace;
  Observation seen = SettledTraining(job);
  seen.coordinator->stragglers = {{2, 400}};
  seen.status = PlanJob(job, seen, At(5)).status;
  SeenProcess waiting = Pending(2, 9);
  waiting.is_unschedulable = true;
  Put(seen, waiting);
  EXPECT_THAT(Actions(PlanJob(job, seen, At(68))), IsEmpty());
  const Plan plan = PlanJob(job, seen, At(69));
  EXPECT_THAT(Actions(plan), ElementsAre("stop digits-worker-2 PendingTooLong"));
  EXPECT_THAT(Events(plan), Contains(HasSubstr("no machine but node-2, which it avoided")));
  seen.status = plan.status;
  Remove(seen, "digits-worker-2");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(70))),
              ElementsAre(HasSubstr("start digits-worker-2 generation=1")));
  EXPECT_THAT(Actions(PlanJob(job, seen, At(70))), ElementsAre(HasSubstr(" prefer-not=node-2")));

  Observation back = SettledTraining(job);
  back.status = plan.status;
  back.coordinator->stragglers = {{2, 400}};
  EXPECT_THAT(Actions(PlanJob(job, back, At(100))), IsEmpty());
  back.coordinator->stragglers.push_back({1, 300});  // Another one may still go.
  EXPECT_THAT(Actions(PlanJob(job, back, At(100))), ElementsAre("stop digits-worker-1 Straggler"));
}

TEST(JudgePending, AQueuedProcessTooMayReturnToWhatItAvoided) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.queue = "gold";
  Observation seen = SettledTraining(job);
  seen.status.avoided_nodes = {{"digits-worker-1", "node-1", false}};
  SeenProcess waiting = Pending(1, 9);
  waiting.is_unschedulable = true;
  Put(seen, waiting);
  const Plan plan = PlanJob(job, seen, At(69), kGangs);
  EXPECT_THAT(Actions(plan), ElementsAre("stop digits-worker-1 PendingTooLong"));
  seen.status = plan.status;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(200), kGangs)),
              IsEmpty());  // The queue's affair from now on.
}

TEST(JudgeStragglers, NamesThemOnceWhereOnlyAReportIsAskedFor) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->stragglers = {{2, 300}};
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_THAT(Events(plan), ElementsAre("Warning Straggler: digits-worker-2 on node-2 takes 3.0 "
                                        "times the median worker's time"));
  seen.status = plan.status;
  EXPECT_THAT(Events(PlanJob(job, seen, At(6))), IsEmpty());
}

}  // namespace
}  // namespace paceline::job
