// What a plan leaves for the next one, and what is made of a status that a version before wrote.
#include "lib/job/plan/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/job/manifest/encode.h"
#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// As an operator wrote it that kept its memory in reasons.
JobStatus WithoutMemory(JobStatus status) {
  status.remembered.reset();
  return status;
}

const PlanOptions kRecovers = {.can_recover_shards = true};

// The coordinator was lost and is started again.
Observation Recovering(const TrainingJob& job) {
  Observation seen = SettledTraining(job);
  Put(seen, Exited(Role::kParameterServer, 0, 5, 1));
  seen.status = PlanJob(job, seen, At(10), kRecovers).status;
  return seen;
}

TEST(Remembered, ARecoveryGoesOnInAStatusOfTheVersionBefore) {
  const TrainingJob job = SmallJob();
  Observation seen = Recovering(job);
  ASSERT_TRUE(seen.status.remembered->is_recovering);
  ASSERT_EQ(seen.status.coordinator_starts, 2);
  Put(seen, Running(Role::kParameterServer, 0, 11));
  seen.coordinator->generation_start = 2;
  seen.coordinator->restored_from = 30;
  const Plan plan = PlanJob(job, seen, At(20), kRecovers);
  ASSERT_TRUE(plan.status.recovery);
  EXPECT_EQ(plan.status.recovery->to_version, 30);
  EXPECT_FALSE(plan.status.remembered->is_recovering);
  seen.status = WithoutMemory(seen.status);
  const Plan upgraded = PlanJob(job, seen, At(20), kRecovers);
  EXPECT_TRUE(upgraded.status == plan.status);
  EXPECT_EQ(Events(upgraded), Events(plan));
}

TEST(Remembered, AFinishedJobOfTheVersionBeforeStaysFinished) {
  const TrainingJob job = SmallJob();
  for (const TrainingPhase phase : {TrainingPhase::kSucceeded, TrainingPhase::kFailed}) {
    Observation seen = SettledTraining(job);
    seen.coordinator->phase = phase;
    const PlanOptions options = {.ending_grace = Seconds(10)};
    seen.status = PlanJob(job, seen, At(5), options).status;
    const std::string state = seen.status.state;
    seen.status = WithoutMemory(seen.status);
    const Plan soon = PlanJob(job, seen, At(6), options);
    EXPECT_EQ(soon.status.state, state);
    EXPECT_THAT(Actions(soon), IsEmpty()) << "they end by themselves";
    seen.status = soon.status;
    EXPECT_TRUE(PlanJob(job, seen, At(7), options).status == soon.status);
    EXPECT_THAT(Actions(PlanJob(job, seen, At(16), options)), Contains(HasSubstr("stop")));
  }
}

TEST(Remembered, AnEvaluatorThatWasGivenUpStaysAway) {
  TrainingJob job = SmallJob();
  job.spec.evaluator.emplace();
  Observation seen = SettledTraining(job);
  Put(seen, Exited(Role::kEvaluator, 0, 5, kExitCannotWork));
  seen.status = PlanJob(job, seen, At(6)).status;
  ASSERT_TRUE(IsEvaluatorGone(seen.status));
  seen.status = WithoutMemory(seen.status);
  EXPECT_TRUE(IsEvaluatorGone(seen.status));
  const Plan plan = PlanJob(job, seen, At(100));
  EXPECT_THAT(Actions(plan), Not(Contains(HasSubstr("evaluator"))));
  EXPECT_TRUE(plan.status.remembered->is_evaluator_gone);
  seen.status = Reworded(plan.status, "");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(200))), Not(Contains(HasSubstr("evaluator"))));
}

TEST(Remembered, SurvivesTheWayThroughTheApiServer) {
  const TrainingJob job = SmallJob();
  TrainingJob stored = job;
  stored.status = Recovering(job).status;
  const Decoded decoded = FromJson(ToJson(stored));
  EXPECT_TRUE(decoded.errors.empty());
  EXPECT_TRUE(decoded.job.status.remembered == stored.status.remembered);
}

}  // namespace
}  // namespace paceline::job
