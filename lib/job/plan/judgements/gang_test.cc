// Jobs that ask for pods placed together, with and without somebody who does that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using testing::AllTraining;
using testing::At;
using ::testing::Contains;
using testing::Events;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Reason;
using testing::SmallJob;
using ::testing::StartsWith;

constexpr PlanOptions kNobody = {.gangs = GangPlacement::kNobody};
constexpr PlanOptions kScheduler = {.gangs = GangPlacement::kByScheduler};

TrainingJob Queued() {
  TrainingJob job = SmallJob();
  job.spec.run_policy.scheduling_policy.queue = "research";
  return job;
}

TEST(JudgeGang, SaysOnceThatNobodyPlacesPodsTogether) {
  Observation seen = AllTraining();
  const Plan first = PlanJob(Queued(), seen, At(5), kNobody);
  EXPECT_THAT(Reason(first, ConditionType::kGangScheduled),
              StartsWith("False NoGangScheduler runPolicy.schedulingPolicy asks for"));
  EXPECT_THAT(Events(first), Contains(StartsWith("Warning NoGangScheduler: ")));
  seen.status = first.status;
  const Plan second = PlanJob(Queued(), seen, At(6), kNobody);
  EXPECT_THAT(Events(second), IsEmpty());
  EXPECT_TRUE(second.status == first.status);
}

TEST(JudgeGang, SaysWhereThereIsOneAndNothingWhereNobodyAsks) {
  EXPECT_THAT(
      Reason(PlanJob(Queued(), AllTraining(), At(5), kScheduler), ConditionType::kGangScheduled),
      StartsWith("True PlacedTogether"));
  for (const PlanOptions& options : {kNobody, kScheduler, PlanOptions{}}) {
    EXPECT_EQ(
        Reason(PlanJob(SmallJob(), AllTraining(), At(5), options), ConditionType::kGangScheduled),
        "absent");
  }
  // On one machine there is nothing to place.
  EXPECT_EQ(Reason(PlanJob(Queued(), AllTraining(), At(5)), ConditionType::kGangScheduled),
            "absent");
}

TEST(JudgeGang, EveryWishForAGangCounts) {
  TrainingJob by_number = SmallJob(), by_resources = SmallJob();
  by_number.spec.run_policy.scheduling_policy.min_available = 4;
  by_resources.spec.run_policy.scheduling_policy.min_resources = Node();
  for (const TrainingJob& job : {by_number, by_resources}) {
    EXPECT_THAT(Reason(PlanJob(job, AllTraining(), At(5), kNobody), ConditionType::kGangScheduled),
                HasSubstr("NoGangScheduler"));
  }
}

TEST(JudgeGang, GoesWithTheWish) {
  Observation seen = AllTraining();
  seen.status = PlanJob(Queued(), seen, At(5), kNobody).status;
  EXPECT_EQ(Reason(PlanJob(SmallJob(), seen, At(6), kNobody), ConditionType::kGangScheduled),
            "absent");
}

// Half of it runs, the rest finds no machine: without a scheduler that would give it all or
// nothing, it makes room as every job does.
TEST(JudgeGang, WithoutASchedulerAJobGivesWay) {
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kStartup;
  for (SeenProcess& process : seen.processes) {
    if (process.role != Role::kWorker || process.index == 0) continue;
    process.state = ProcessState::kPending;
    process.is_unschedulable = true;
  }
  const Plan alone = PlanJob(Queued(), seen, At(9999), kNobody);
  EXPECT_EQ(alone.status.gave_way, 1);
  EXPECT_THAT(Events(alone), Contains(StartsWith("Warning GaveWay")));
  const Plan placed = PlanJob(Queued(), seen, At(9999), kScheduler);
  EXPECT_EQ(placed.status.gave_way, 0);
  EXPECT_THAT(Events(placed), Not(Contains(StartsWith("Warning GaveWay"))));
}

}  // namespace
}  // namespace paceline::job
