// What a plan says of what has to be there before anything can start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Resources, TellWhatTheShellCouldNotMake) {
  const TrainingJob job = SmallJob();
  Observation seen;
  seen.resources_trouble = "pods is forbidden: exceeded quota";
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_EQ(plan.status.state, "ResourcesRefused");
  EXPECT_THAT(Reason(plan, ConditionType::kResourcesReady),
              HasSubstr("False ResourcesRefused pods is forbidden: exceeded quota; not running: "));
  seen.status = plan.status;
  EXPECT_THAT(Events(PlanJob(job, seen, At(6))), IsEmpty());  // Said once.
}

TEST(Resources, TellWhichClaimsAreAwaited) {
  const TrainingJob job = SmallJob();
  Observation seen;
  seen.terminating_claims = "digits-checkpoint-1";
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_EQ(plan.status.state, "ClaimTerminating");
  EXPECT_THAT(Reason(plan, ConditionType::kResourcesReady),
              HasSubstr("False ClaimTerminating waits until what is being deleted is gone: claim "
                        "digits-checkpoint-1; not running: "));
  EXPECT_THAT(Events(plan), Contains(HasSubstr("Warning ClaimTerminating: ")));
  seen.status = plan.status;
  EXPECT_THAT(Events(PlanJob(job, seen, At(6))), IsEmpty());  // Said once.
}

TEST(Resources, TellWhatAFormerJobLeft) {
  const TrainingJob job = SmallJob();
  Observation seen;
  seen.former_job = "pods digits-ps-0; Secret digits-token";
  seen.terminating_claims = "digits-checkpoint-0";
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_EQ(plan.status.state, "WaitsForFormerJob");
  EXPECT_THAT(Reason(plan, ConditionType::kResourcesReady),
              HasSubstr("False WaitsForFormerJob waits until what a former job of this name left "
                        "is gone: pods digits-ps-0; Secret digits-token; not running: "));
  EXPECT_THAT(Events(plan), Contains(HasSubstr("Warning WaitsForFormerJob: ")));
  seen.status = plan.status;
  seen.former_job = "pods digits-ps-0";
  EXPECT_THAT(Events(PlanJob(job, seen, At(6))), IsEmpty());  // Said once.
}

TEST(Resources, TellThatTheOutputsClaimIsAwaited) {
  Observation seen;
  seen.missing_claim = "out";
  const Plan plan = PlanJob(SmallJob(), seen, At(5));
  EXPECT_EQ(plan.status.state, "ClaimMissing");
  EXPECT_THAT(Reason(plan, ConditionType::kResourcesReady),
              HasSubstr("False ClaimMissing waits for claim out of spec.output.volume, which is "
                        "not there or is being deleted; not running: "));
}

}  // namespace
}  // namespace paceline::job
