// What events tell of a run, in order, and what people read of its progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using testing::AllTraining;
using testing::At;
using ::testing::ElementsAre;
using testing::Events;
using ::testing::IsEmpty;
using testing::Put;
using testing::Remove;
using testing::Running;
using testing::SettledTraining;
using testing::SmallJob;
using ::testing::StartsWith;

// The events of looks at one job, each with the status that the one before has left.
class Story {
 public:
  explicit Story(TrainingJob told) : job(std::move(told)) {}

  std::vector<std::string> Look(Observation seen) {
    seen.status = status_;
    const Plan plan = PlanJob(job, seen, now_);
    now_ = now_ + Seconds(1);
    status_ = plan.status;
    return Events(plan);
  }

  TrainingJob job;

 private:
  JobStatus status_;
  Time now_ = At(1);
};

TEST(Events, TellARunInOrderAndEachThingOnce) {
  Story story(SmallJob());
  EXPECT_THAT(story.Look({}), ElementsAre(StartsWith("Warning NoCheckpoints")));
  Observation seen = AllTraining();
  EXPECT_THAT(story.Look(seen), ElementsAre("Normal AllRunning: all 6 processes run",
                                            "Normal Training: training goes on"));
  EXPECT_THAT(story.Look(seen), IsEmpty());
  seen.coordinator->phase = TrainingPhase::kFinishing;
  EXPECT_THAT(story.Look(seen), ElementsAre(StartsWith("Normal Finishing")));
  seen.coordinator->model_version = 30;
  EXPECT_THAT(story.Look(seen), IsEmpty());
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  EXPECT_THAT(story.Look(seen), ElementsAre(StartsWith("Normal TrainingSucceeded")));
  EXPECT_THAT(story.Look(seen), IsEmpty());
}

// Which is told even of a job that has said too much before.
TEST(Events, MarkHowTheJobEndedAndNothingElse) {
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kFailed;
  const Plan plan = PlanJob(SmallJob(), seen, At(9));
  ASSERT_GE(plan.events.size(), 1u);
  for (const PlanEvent& event : plan.events)
    EXPECT_EQ(event.ends_job, event.reason == PlanReason::kTrainingFailed) << event.message;
  EXPECT_THAT(Events(plan), ::testing::Contains(StartsWith("Warning TrainingFailed")));
}

TEST(Events, TellWhoComesAndGoesWhenAnotherNumberOfWorkersIsWanted) {
  Story story(SmallJob());
  story.Look(AllTraining());
  story.job.spec.workers.replicas = 5;
  EXPECT_THAT(story.Look(AllTraining()),
              ElementsAre("Normal ScaledUp: 5 workers are wanted now; starting digits-worker-3, "
                          "digits-worker-4"));
  Observation five = AllTraining();
  for (const int64_t index : {3, 4}) Put(five, Running(Role::kWorker, index));
  EXPECT_THAT(story.Look(five), ElementsAre("Normal AllRunning: all 8 processes run"));
  story.job.spec.workers.replicas = 2;
  EXPECT_THAT(story.Look(five),
              ElementsAre("Normal ScaledDown: 2 workers are wanted now; stopping digits-worker-2, "
                          "digits-worker-3, digits-worker-4"));
}

// All of a job's workers come with its first plan, and again after it was suspended.
TEST(Events, CallNobodyScaledWhereAllWorkersStart) {
  Story story(SmallJob());
  story.Look({});
  story.job.spec.run_policy.suspend = true;
  story.Look({});
  story.job.spec.run_policy.suspend = false;
  EXPECT_THAT(story.Look({}), ElementsAre("Normal Resumed: the job goes on"));
}

// It was there before: not another number of workers is wanted, but the same again.
TEST(Events, CallAWorkerThatWentAwayNotScaled) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  Remove(seen, "digits-worker-1");
  EXPECT_THAT(Events(PlanJob(job, seen, At(9))),
              ElementsAre(StartsWith("Warning ProcessGone"), StartsWith("Warning WorkersMissing")));
}

TEST(Events, TellOfAnotherSchemeOnceItIsInForce) {
  Story story(SmallJob());
  story.Look({});
  Observation seen = AllTraining();
  seen.coordinator->sync = SyncStatus{.scheme = Scheme::kBsp, .waiting_for = 3};
  story.Look(seen);
  seen.coordinator->sync->scheme = Scheme::kSsp;
  EXPECT_THAT(story.Look(seen),
              ElementsAre("Normal SchemeChanged: the scheme is SSP now; it was BSP"));
  EXPECT_THAT(story.Look(seen), IsEmpty());
  seen.coordinator->sync->summary = "SSP+EMA";
  EXPECT_THAT(story.Look(seen),
              ElementsAre("Normal SchemeChanged: the scheme is SSP+EMA now; it was SSP"));
  EXPECT_THAT(story.Look(seen), IsEmpty());
}

TEST(Columns, SayProgressSchemeAndTheSlowestInFewWords) {
  Observation seen = AllTraining();
  seen.coordinator->progress = Progress{.step = 230, .percent = 99.97, .eta_seconds = 65};
  seen.coordinator->sync = SyncStatus{.scheme = Scheme::kDbw, .waiting_for = 2};
  seen.coordinator->workers = {{.name = "digits-worker-0", .slowdown_percent = 90},
                               {.name = "digits-worker-1", .slowdown_percent = 184},
                               {.name = "digits-worker-2", .slowdown_percent = 100}};
  const JobStatus status = PlanJob(SmallJob(), seen, At(9)).status;
  EXPECT_EQ(status.progress->done, "99%, step 230");
  EXPECT_EQ(status.progress->eta, "1m05s");
  EXPECT_EQ(status.progress->slowest, "digits-worker-1 1.8x");
  EXPECT_EQ(status.sync->summary, "DBW k=2");
  seen.coordinator->sync->summary = "DBW+EagerPull";
  EXPECT_EQ(PlanJob(SmallJob(), seen, At(9)).status.sync->summary, "DBW+EagerPull k=2");
}

TEST(Columns, SayNothingOfWhatIsNotKnownYet) {
  Observation seen = AllTraining();
  seen.coordinator->progress = Progress{};
  seen.coordinator->sync = SyncStatus{};
  seen.coordinator->workers = {{.name = "digits-worker-0"}};
  const JobStatus status = PlanJob(SmallJob(), seen, At(9)).status;
  EXPECT_EQ(status.progress->slowest, "");
  EXPECT_EQ(status.sync->summary, "BSP");
}

}  // namespace
}  // namespace paceline::job
