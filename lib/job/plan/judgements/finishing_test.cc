// The end of training: what does not matter any more, who is not started again, and an evaluator
// that cannot work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Training has reached its stop, and a plan has heard of it.
Observation Finishing(const TrainingJob& job, std::optional<int64_t> model_version) {
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kFinishing;
  seen.coordinator->model_version = model_version;
  seen.status = PlanJob(job, seen, At(1)).status;
  return seen;
}

TEST(Finishing, WorkersThatEndHaveNothingLeftToDo) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 0;
  for (const int code : {0, 1, kExitCannotWork}) {
    SCOPED_TRACE(code);
    Observation seen = Finishing(job, std::nullopt);
    Put(seen, Exited(Role::kWorker, 0, 5, code));
    Remove(seen, "digits-worker-1");
    for (const bool is_known : {true, false}) {  // A coordinator that cannot be asked for a moment.
      if (!is_known) seen.coordinator.reset();
      const Plan plan = PlanJob(job, seen, At(50));
      EXPECT_THAT(Actions(plan), IsEmpty());
      EXPECT_EQ(plan.status.state, "Running");
      EXPECT_EQ(Reason(plan, ConditionType::kRunning),
                "True Finishing training has reached its stop; the model is being written");
    }
  }
}

TEST(Finishing, WhatFailedBeforeStaysCounted) {
  const TrainingJob job = SmallJob();
  Observation seen = AllTraining();
  SeenProcess again = Running(Role::kWorker, 0, 1);
  again.failures = 2;
  Put(seen, again);
  seen.status = PlanJob(job, seen, At(2)).status;
  ASSERT_EQ(seen.status.failures, 2);
  seen.coordinator->phase = TrainingPhase::kFinishing;
  for (const std::optional<int64_t> model : {std::optional<int64_t>(), std::optional<int64_t>(7)}) {
    seen.coordinator->model_version = model;
    seen.status = PlanJob(job, seen, At(3)).status;
    EXPECT_EQ(seen.status.failures, 2);
  }
  Remove(seen, "digits-worker-0");
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  EXPECT_EQ(PlanJob(job, seen, At(4)).status.failures, 2);
}

TEST(Finishing, AWrittenModelIsKeptWhoeverEnds) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 0;
  Observation seen = Finishing(job, 930);
  EXPECT_EQ(seen.status.finishing, (FinishingStatus{.coordinator_start = 1, .model_version = 930}));
  Put(seen, Exited(Role::kParameterServer, 1, 5, 1));
  Put(seen, Exited(Role::kWorker, 0, 5, kExitCannotWork));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(6))), "Running");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(99))), IsEmpty());
  seen.coordinator.reset();
  for (const int code : {1, kExitCannotWork}) {
    Put(seen, Exited(Role::kParameterServer, 0, 5, code));
    EXPECT_THAT(Outcome(PlanJob(job, seen, At(6))),
                HasSubstr("Succeeded TrainingSucceeded: the model is trained and saved; the "
                          "coordinator ended before"));
  }
  Remove(seen, "digits-ps-0");
  EXPECT_THAT(Outcome(PlanJob(job, seen, At(6))), HasSubstr("Succeeded"));
}

TEST(Finishing, ACoordinatorLostBeforeTheModelIsWrittenIsStartedAgain) {
  const TrainingJob job = SmallJob();
  PlanOptions options;
  options.can_recover_shards = true;
  Observation seen = Finishing(job, std::nullopt);
  Put(seen, Exited(Role::kParameterServer, 0, 5, 1));
  seen.coordinator.reset();
  const Plan plan = PlanJob(job, seen, At(9), options);
  EXPECT_THAT(Actions(plan), Contains(HasSubstr("start digits-ps-0 generation=2")));
  // Its next life has training before it.
  seen.status = plan.status;
  Put(seen, Running(Role::kParameterServer, 0, 9));
  Put(seen, Exited(Role::kWorker, 0, 10, 0));
  seen.coordinator = AllTraining().coordinator;
  seen.coordinator->generation_start = 2;
  const Plan next = PlanJob(job, seen, At(20), options);
  EXPECT_EQ(next.status.finishing, std::nullopt);
  EXPECT_THAT(Actions(next), Contains(HasSubstr("start digits-worker-0")));
}

TEST(Finishing, TheDeadlineDoesNotTakeAWrittenModelAway) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.active_deadline_seconds = 60;
  EXPECT_THAT(Outcome(PlanJob(job, Finishing(job, 7), At(61))), HasSubstr("Succeeded"));
  EXPECT_THAT(Outcome(PlanJob(job, Finishing(job, std::nullopt), At(61))),
              HasSubstr("Failed DeadlineExceeded"));
}

TEST(Leaving, WhoLeavesWhileTrainingGoesOnIsStartedLessAndLessOften) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 2;
  Observation seen = AllTraining();
  seen.status = PlanJob(job, seen, At(1)).status;
  double now = 10;
  for (const double backoff : {1.0, 2.0}) {
    SeenProcess left = Find(seen, "digits-worker-1");
    left.state = ProcessState::kExited;
    left.exit_code = 0;
    left.ended_at = At(now);
    Put(seen, left);
    EXPECT_THAT(Actions(PlanJob(job, seen, At(now + backoff - 0.01))), IsEmpty());
    const Plan plan = PlanJob(job, seen, At(now + backoff));
    ASSERT_EQ(plan.actions.size(), 1u);
    const Start start = std::get<Start>(plan.actions[0]);
    left.state = ProcessState::kRunning;
    left.started_at = At(now + backoff);
    left.attempt = start.attempt;
    left.failures = start.failures;
    Put(seen, left);
    seen.status = plan.status;
    now += 10;
  }
  Put(seen, [&] {
    SeenProcess left = Find(seen, "digits-worker-1");
    left.state = ProcessState::kExited;
    left.ended_at = At(now);
    return left;
  }());
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(now))), "Running");
  EXPECT_THAT(Outcome(PlanJob(job, seen, At(now + 1))),
              HasSubstr("Failed BackoffLimitExceeded: digits-worker-1 exited with code 0"));
}

// Worker 1 has said that its script has ended, and its process has.
Observation WithScriptEnded(const TrainingJob& job, int exit_code) {
  Observation seen = SettledTraining(job);
  SeenProcess left = Find(seen, "digits-worker-1");
  left.state = ProcessState::kExited;
  left.exit_code = exit_code;
  left.ended_at = At(10);
  Put(seen, left);
  seen.coordinator->ended = {{.worker = 1}};
  return seen;
}

TEST(JudgeRestart, AWorkerWhoseScriptHasEndedIsNeitherStartedAgainNorCountedNorMissed) {
  const TrainingJob job = SmallJob();
  Observation seen = WithScriptEnded(job, 0);
  for (const bool is_there : {true, false}) {
    if (!is_there) Remove(seen, "digits-worker-1");
    const Plan plan = PlanJob(job, seen, At(500));
    EXPECT_THAT(Actions(plan), IsEmpty());
    EXPECT_EQ(plan.status.failures, 0);
    EXPECT_EQ(plan.status.state, "Running");
    EXPECT_THAT(Reason(plan, ConditionType::kResourcesReady), HasSubstr("True AllRunning"));
    seen.status = plan.status;
  }
}

TEST(JudgeRestart, AWorkerThatFailsAfterItsScriptsLoopIsStartedAgain) {
  const TrainingJob job = SmallJob();
  const Observation seen = WithScriptEnded(job, 1);
  EXPECT_THAT(Actions(PlanJob(job, seen, At(500))),
              ElementsAre(HasSubstr("start digits-worker-1")));
}

TEST(JudgeSuccess, SaysThatAllScriptsEnded) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  seen.coordinator->have_scripts_ended = true;
  seen.coordinator->message = "all scripts ended after 1.5 epochs";
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(500))),
            "Succeeded ScriptsEnded: all scripts ended after 1.5 epochs; the model is saved");
}

SeenProcess FailedEvaluator(int code, int64_t failures) {
  SeenProcess failed = Exited(Role::kEvaluator, 0, 5, code);
  failed.failures = failed.attempt = failures;
  failed.last_word = "evaluation failed: no metrics";
  return failed;
}

TEST(JudgeEvaluator, OneThatCannotWorkIsSaidAndNotStartedAgain) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 1;
  const struct {
    SeenProcess evaluator;
    const char* says;
  } cases[] = {
      {FailedEvaluator(kExitCannotWork, 0), "starting it again is of no use"},
      {FailedEvaluator(1, 1), "failure 2, backoffLimit allows 1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.says);
    Observation seen = SettledTraining(job);
    Put(seen, c.evaluator);
    const Plan plan = PlanJob(job, seen, At(500));
    EXPECT_THAT(Actions(plan), IsEmpty());
    EXPECT_EQ(plan.status.state, "Degraded");
    EXPECT_THAT(Reason(plan, ConditionType::kDegraded),
                ::testing::AllOf(HasSubstr("True EvaluatorGone"), HasSubstr("no metrics"),
                                 HasSubstr(c.says)));
    EXPECT_THAT(Reason(plan, ConditionType::kRestarting), HasSubstr("False"));
    EXPECT_THAT(Events(plan), Contains(HasSubstr("Warning EvaluatorGone: training goes on")));
    EXPECT_EQ(plan.status.failures, 0);
    // Nor is it when what is left of it has gone; and it is said once.
    seen.status = plan.status;
    Remove(seen, "digits-evaluator");
    const Plan later = PlanJob(job, seen, At(501));
    EXPECT_THAT(Actions(later), IsEmpty());
    EXPECT_THAT(Events(later), IsEmpty());
  }
}

TEST(JudgeEvaluator, OneThatFailedSeldomIsStartedAgain) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 1;
  Observation seen = SettledTraining(job);
  Put(seen, FailedEvaluator(1, 0));
  const Plan plan = PlanJob(job, seen, At(7));
  EXPECT_THAT(Actions(plan), ElementsAre(HasSubstr("start digits-evaluator")));
  EXPECT_EQ(plan.status.evaluator_gone, "");
}

TEST(JudgeEvaluator, AResumedJobGivesItAnotherChance) {
  TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  Put(seen, FailedEvaluator(kExitCannotWork, 0));
  seen.status = PlanJob(job, seen, At(6)).status;
  ASSERT_NE(seen.status.evaluator_gone, "");
  job.spec.run_policy.suspend = true;
  seen.status = PlanJob(job, seen, At(7)).status;
  job.spec.run_policy.suspend = false;
  seen.processes.clear();
  seen.coordinator.reset();
  EXPECT_THAT(Actions(PlanJob(job, seen, At(8))), Contains(HasSubstr("start digits-evaluator")));
}

TEST(Target, ThatNobodyJudgesIsSaidAndItsEndHasAReasonOfItsOwn) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->target_problem = "target Accuracy >= 0.9 cannot be judged: no accuracy";
  const Plan plan = PlanJob(job, seen, At(7));
  EXPECT_EQ(Reason(plan, ConditionType::kDegraded),
            "True TargetNotJudged target Accuracy >= 0.9 cannot be judged: no accuracy");
  seen.coordinator->phase = TrainingPhase::kFailed;
  seen.coordinator->message = "target Accuracy >= 0.9 cannot be judged: no accuracy";
  seen.coordinator->is_unjudged = true;
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(8))),
            "Failed TargetNotJudged: target Accuracy >= 0.9 cannot be judged: no accuracy");
}

}  // namespace
}  // namespace paceline::job
