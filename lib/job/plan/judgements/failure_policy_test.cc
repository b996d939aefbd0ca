// What runPolicy.failurePolicy makes of ends: the first rule that matches decides.
#include "lib/job/plan/judgements/failure_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

FailureRule OnCodes(FailureAction action, ExitCodeOperator op, std::vector<int64_t> values) {
  return {.action = action, .on_exit_codes = ExitCodePattern{op, std::move(values)}};
}

FailureRule OnCondition(FailureAction action, std::string type,
                        ConditionStatus status = ConditionStatus::kTrue) {
  return {.action = action, .on_pod_conditions = {{std::move(type), status}}};
}

TrainingJob JobWith(std::vector<FailureRule> rules) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.failure_policy = FailurePolicy{std::move(rules)};
  return job;
}

SeenProcess Disrupted(int exit_code) {
  SeenProcess process = Exited(Role::kWorker, 1, 100, exit_code);
  process.is_disruption = true;
  process.conditions = {{"Ready", ConditionStatus::kFalse},
                        {"DisruptionTarget", ConditionStatus::kTrue}};
  return process;
}

std::string RuleOf(const TrainingJob& job, const SeenProcess& process) {
  Observation seen = SettledTraining(job);
  Put(seen, process);
  for (const SeenProcess& one : ApplyFailurePolicy(job, seen).processes) {
    if (one.name == process.name && one.rule)
      return fmt::format("{}{}", *one.rule, one.is_disruption ? " ignored" : "");
  }
  return "none";
}

TEST(FailurePolicyTest, TheFirstRuleThatMatchesDecides) {
  const TrainingJob job =
      JobWith({OnCodes(FailureAction::kFailJob, ExitCodeOperator::kIn, {42, 139}),
               OnCondition(FailureAction::kCount, "DisruptionTarget"),
               OnCondition(FailureAction::kFailJob, "Ready", ConditionStatus::kUnknown),
               OnCodes(FailureAction::kIgnore, ExitCodeOperator::kNotIn, {1, 2, 137})});
  const auto exited = [](int code, int signal = 0) {
    return Exited(Role::kWorker, 1, 100, code, signal);
  };
  EXPECT_EQ(RuleOf(job, exited(42)), "0");
  EXPECT_EQ(RuleOf(job, exited(0, 11)), "0");  // 128 + 11.
  EXPECT_EQ(RuleOf(job, exited(0, 9)), "none");
  EXPECT_EQ(RuleOf(job, exited(1)), "none");
  EXPECT_EQ(RuleOf(job, exited(7)), "3 ignored");
  EXPECT_EQ(RuleOf(job, exited(0)), "none");  // It ended well.
  EXPECT_EQ(RuleOf(job, Disrupted(143)), "1");
  EXPECT_EQ(RuleOf(job, Disrupted(42)), "0");
  EXPECT_EQ(RuleOf(job, Running(Role::kWorker, 1)), "none");
}

TEST(FailurePolicyTest, FailJobEndsTheJobAtOnceWhateverBackoffLimit) {
  const TrainingJob job = JobWith({OnCodes(FailureAction::kFailJob, ExitCodeOperator::kIn, {42})});
  for (const Role role : {Role::kWorker, Role::kParameterServer, Role::kEvaluator}) {
    Observation seen = SettledTraining(job);
    Put(seen, Exited(role, 0, 100, 42));
    EXPECT_EQ(Outcome(PlanJob(job, seen, At(100), {.can_recover_shards = true})),
              fmt::format("Failed PodFailurePolicy: {} exited with code 42, by "
                          "failurePolicy.rules[0]",
                          ProcessName("digits", role, 0)));
  }
}

TEST(FailurePolicyTest, WhatIsIgnoredBacksOffAndCountsAsADisruption) {
  TrainingJob job = JobWith({OnCodes(FailureAction::kIgnore, ExitCodeOperator::kIn, {7, 2})});
  job.spec.run_policy.backoff_limit = 0;
  Observation seen = SettledTraining(job);
  SeenProcess ended = Exited(Role::kWorker, 1, 100, 7);
  ended.disruptions = 2;
  Put(seen, ended);
  const Plan early = PlanJob(job, seen, At(103));
  EXPECT_THAT(Actions(early), IsEmpty());
  EXPECT_EQ(early.requeue_at, At(104));
  EXPECT_EQ(early.status.failures, 0);
  EXPECT_EQ(Reason(early, ConditionType::kRestarting),
            "True ProcessDisrupted digits-worker-1 exited with code 7, by failurePolicy.rules[0]");
  const Plan plan = PlanJob(job, seen, At(104));
  EXPECT_THAT(Actions(plan), ElementsAre("start digits-worker-1 generation=1 attempt=1 failures=0 "
                                         "disruptions=3"));
  EXPECT_THAT(Events(plan), Contains("Warning ProcessDisrupted: digits-worker-1 exited with code "
                                     "7, by failurePolicy.rules[0]; it is started again"));
  Put(seen, Exited(Role::kWorker, 1, 100, kExitCannotWork));  // Hopeless, without the rule.
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(100))), "Degraded");
}

TEST(FailurePolicyTest, ADisruptionMayCountAsAFailure) {
  TrainingJob job = JobWith({OnCondition(FailureAction::kCount, "DisruptionTarget")});
  job.spec.run_policy.backoff_limit = 0;
  Observation seen = SettledTraining(job);
  Put(seen, Disrupted(143));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(100))),
            "Failed BackoffLimitExceeded: digits-worker-1 exited with code 143, by "
            "failurePolicy.rules[0]: failure 1, backoffLimit allows 0");
  job.spec.run_policy.failure_policy.reset();
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(100))), "Degraded");
}

// The model is there: no end of a process makes a failure of the job.
TEST(FailurePolicyTest, EndsNoJobWhoseModelIsWritten) {
  const TrainingJob job = JobWith({OnCodes(FailureAction::kFailJob, ExitCodeOperator::kIn, {42})});
  Observation seen = SettledTraining(job);
  Put(seen, Exited(Role::kEvaluator, 0, 100, 42));
  seen.coordinator->model_version = 8;
  EXPECT_NE(Outcome(PlanJob(job, seen, At(100))).substr(0, 6), "Failed");
}

}  // namespace
}  // namespace paceline::job
