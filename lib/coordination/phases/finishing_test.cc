#include "lib/coordination/phases/finishing.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using ::testing::HasSubstr;
using testing::Job;

CoordinatorOptions OneWorker() {
  CoordinatorOptions options;
  options.workers_max = 4;
  options.global_batch_size = 8;
  options.epochs_max = 1;
  return options;
}

CoordinatorOptions Evaluated(double target) {
  CoordinatorOptions options = OneWorker();
  options.has_evaluator = true;
  options.evaluation_period = Seconds(0);
  options.target = Target{{"Accuracy", true}, target};
  return options;
}

void Step(Job& job, uint64_t version) {
  job.PushFor(1);
  job.CommittedEverywhere(version);
}

TEST(FinishingTest, StepsMaxSendsNobodyOn) {
  CoordinatorOptions options = OneWorker();
  options.epochs_max = 0;
  options.steps_max = 3;
  Job job(options);
  job.Opened({{1, 0}});
  for (uint64_t version = 1; version <= 3; ++version) Step(job, version);
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 3);
  EXPECT_TRUE(job.WasSent<protocol::Finish>(1));
  job.Step(ModelSaved{Version(3), {1, 0}, ""});
  EXPECT_EQ(job.outcome(), "stopped after 3 steps");
}

TEST(FinishingTest, ANewcomerAfterTheEndIsToldSoAtOnce) {
  Job job(OneWorker());
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  ASSERT_TRUE(job.Last<Finished>().is_success);
  job.Join(2, 1);
  EXPECT_EQ(job.Sent<protocol::Refused>(2).reason, protocol::RefuseReason::kFinished);
  EXPECT_TRUE(job.WasClosed(2));
  job.Hear(3, protocol::Heartbeat{});  // Nothing to be said to that.
  EXPECT_FALSE(job.WasClosed(3));
}

// Trained to the end, the model with the coordinator, and no room for it.
void TrainOntoAFullDisk(Job& job) {
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelFetched{Version(2), {1, 0}});
  job.Step(ModelSaved{Version(2), {1, 0}, "disk full"});
}

size_t Saves(const Job& job) {
  return static_cast<size_t>(std::ranges::count_if(
      job.effects, [](const Effect& effect) { return std::holds_alternative<SaveModel>(effect); }));
}

TEST(FinishingTest, AModelThatCannotBeWrittenIsTriedAgainUntilItIs) {
  Job job(OneWorker());
  TrainOntoAFullDisk(job);
  EXPECT_FALSE(job.Has<Finished>());
  EXPECT_EQ(job.coordinator.status().model_problem, "disk full");
  Duration pause = Seconds(1);
  for (size_t tries = 1; tries <= 20; ++tries) {
    EXPECT_EQ(job.Last<ModelNotSaved>().pause, pause);
    ASSERT_EQ(job.coordinator.Deadline(), job.now + pause);
    EXPECT_EQ(Saves(job), tries);
    job.Pass(pause);
    ASSERT_EQ(Saves(job), tries + 1);
    job.Step(ModelSaved{Version(2), {1, 0}, "disk full"});
    ASSERT_FALSE(job.Has<Finished>());
    pause = std::min(pause * 2, Duration(Seconds(60)));
  }
  job.Pass(pause);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.coordinator.status().model_problem, "");
}

TEST(FinishingTest, ShardsMayGoOnceTheModelIsFetched) {
  Job job(OneWorker());
  TrainOntoAFullDisk(job);
  job.Step(ShardGone{ShardId(0), "killed"});
  EXPECT_FALSE(job.Has<RolledBack>());
  job.Pass(Seconds(1));
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
}

TEST(FinishingTest, AskedToStopTheModelIsTriedOnceMore) {
  for (const bool is_room : {true, false}) {
    Job job(OneWorker());
    TrainOntoAFullDisk(job);
    job.Step(StopAsked{"asked to stop", StopKind::kSuspend});
    ASSERT_EQ(Saves(job), 2u);
    EXPECT_FALSE(job.Has<Finished>());
    job.Step(ModelSaved{Version(2), {1, 0}, is_room ? "" : "disk full"});
    EXPECT_EQ(job.Last<Finished>().is_success, is_room);
    EXPECT_EQ(job.Last<Finished>().is_suspended, !is_room);
    EXPECT_EQ(job.outcome(), is_room ? "stopped after 1 epochs"
                                     : "asked to stop; the final model is not written: disk full");
  }
}

TEST(FinishingTest, TargetMetInTrainingMakesThePinnedVersionTheFinalOne) {
  CoordinatorOptions options = Evaluated(0.9);
  options.epochs_max = 10;
  Job job(options);
  job.Opened({{1, 0}});
  job.JoinEvaluator(9);
  EXPECT_TRUE(job.WasSent<protocol::Shards>(9));
  Step(job, 1);
  EXPECT_TRUE(job.AllOrdered<protocol::CommitAll>()[0].commit.is_pinned);
  EXPECT_EQ(job.Sent<protocol::Evaluate>(9).version, Version(1));
  Step(job, 2);
  EXPECT_FALSE(job.AllOrdered<protocol::CommitAll>()[1].commit.is_pinned);
  job.Hear(9, protocol::Evaluated{Version(1), 0.1, 0.95, 100});
  EXPECT_FALSE(job.Ordered<protocol::Unpin>());
  EXPECT_EQ(job.Last<SaveModel>().version, Version(1));
  job.Step(ModelSaved{Version(1), {1, 0}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "target Accuracy >= 0.9 reached: 0.95 at v1");
  EXPECT_TRUE(job.WasSent<protocol::Finish>(9));
}

TEST(FinishingTest, TheModelIsWrittenFirstAndEvaluatedAfterTheWorkersWentHome) {
  Job job(Evaluated(0.98));
  job.Opened({{1, 0}});
  job.JoinEvaluator(9);
  Step(job, 1);
  Step(job, 2);  // The last; the evaluator is still busy with the first.
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_EQ(job.Last<SaveModel>().version, Version(2));
  EXPECT_EQ(job.coordinator.status().model_version, std::nullopt);
  job.Hear(9, protocol::Evaluated{Version(1), 0.1, 0.5, 100});
  EXPECT_EQ(job.AllOrdered<protocol::Unpin>().size(), 1u);
  EXPECT_EQ(job.SentCount<protocol::Evaluate>(9), 1);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  EXPECT_EQ(job.coordinator.status().model_version, Version(2));
  EXPECT_FALSE(job.Has<Finished>());
  EXPECT_EQ(job.Sent<protocol::Evaluate>(9).version, Version(2));
  job.Hear(9, protocol::Evaluated{Version(2), 0.1, 0.97, 100});
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "stopped after 1 epochs; target Accuracy >= 0.98 not reached: 0.97");
}

TEST(FinishingTest, WithoutAnEvaluatorTheJobGoesOnAndSaysSo) {
  Job job(Evaluated(0.98));
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  EXPECT_EQ(job.coordinator.Deadline(), job.now + Seconds(120));
  EXPECT_FALSE(job.Has<Finished>());
  job.Pass(Seconds(120));
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(),
            "stopped after 1 epochs; v2 is not evaluated: no evaluator within 120 s");
}

TEST(FinishingTest, AnEvaluatorMayComeForTheFinalVersion) {
  Job job(Evaluated(0.98));
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  job.now += Seconds(100);
  job.JoinEvaluator(9);
  EXPECT_EQ(job.Sent<protocol::Evaluate>(9).version, Version(2));
  job.Step(WorkerGone{ConnectionId(9)});
  EXPECT_EQ(job.coordinator.Deadline(), job.now + Seconds(120));
}

TEST(FinishingTest, AnEarlierVersionThatMetTheTargetBecomesTheModelYet) {
  for (const char* const problem : {"", "disk full"}) {
    SCOPED_TRACE(problem);
    Job job(Evaluated(0.9));
    job.Opened({{1, 0}});
    job.JoinEvaluator(9);
    Step(job, 1);
    Step(job, 2);
    job.Step(ModelSaved{Version(2), {1, 0}, ""});
    job.Hear(9, protocol::Evaluated{Version(1), 0.1, 0.95, 100});
    EXPECT_FALSE(job.Ordered<protocol::Unpin>());
    EXPECT_EQ(job.Last<SaveModel>().version, Version(1));
    EXPECT_FALSE(job.Has<Finished>());
    job.Step(ModelSaved{Version(1), {1, 0}, problem});
    EXPECT_TRUE(job.Last<Finished>().is_success);
    EXPECT_THAT(job.outcome(), HasSubstr("target Accuracy >= 0.9 reached: 0.95 at v1"));
    if (*problem == 0) continue;
    EXPECT_THAT(job.outcome(), HasSubstr("cannot be saved: disk full; the model is v2"));
  }
}

TEST(FinishingTest, WhatIsSavedIsKeptWhenAShardIsLostAfterwards) {
  Job job(Evaluated(0.98));
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  job.Step(ShardGone{ShardId(0), "killed"});
  EXPECT_FALSE(job.Has<RolledBack>());
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "stopped after 1 epochs; v2 is not evaluated: shard s0 lost: killed");
}

TEST(FinishingTest, AnEvaluatorThatFailsOnTheFinalVersionIsNotTriedForEver) {
  Job job(Evaluated(0.98));
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  for (uint64_t evaluator = 9; evaluator < 12; ++evaluator) {
    EXPECT_FALSE(job.Has<Finished>());
    job.JoinEvaluator(evaluator);
    EXPECT_EQ(job.Sent<protocol::Evaluate>(evaluator).version, Version(2));
    job.Hear(evaluator, protocol::Failing{"no metrics"});
  }
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "stopped after 1 epochs; v2 is not evaluated: no metrics");
}

TEST(FinishingTest, AnEvaluationOfTheFinalVersionThatHangsIsNotWaitedForTwice) {
  Job job(Evaluated(0.98));
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  job.JoinEvaluator(9);
  EXPECT_EQ(job.Sent<protocol::Evaluate>(9).version, Version(2));
  job.Hear(9, protocol::Heartbeat{protocol::Doing::kWaiting, 0, Seconds(900)});
  job.Hear(9, protocol::Heartbeat{protocol::Doing::kComputing, 0, Seconds(899)});
  EXPECT_FALSE(job.Has<Finished>());
  job.Hear(9, protocol::Heartbeat{protocol::Doing::kComputing, 0, Seconds(900)});
  EXPECT_TRUE(job.WasClosed(9));
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(),
            "stopped after 1 epochs; v2 is not evaluated: its evaluation hangs: no progress for "
            "900 s, 900 s are allowed");
}

SpecChanged EvaluatorGone(const std::string& why) { return {1, 1, false, std::nullopt, why}; }

TEST(FinishingTest, AnEvaluatorThatIsGoneForGoodIsNotWaitedFor) {
  Job job(Evaluated(0.98));
  job.Opened({{1, 0}});
  job.Step(EvaluatorGone("it cannot work"));
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  EXPECT_TRUE(job.coordinator.status().is_evaluator_gone);
  EXPECT_EQ(job.coordinator.status().target_problem,
            "target Accuracy >= 0.98 cannot be judged: it cannot work");
  Step(job, 1);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "stopped after 1 epochs; v2 is not evaluated: it cannot work");
}

TEST(FinishingTest, TrainingThatOnlyItsTargetWouldEndEndsWithItsModelWhenNobodyCanJudge) {
  struct Case {
    const char* name;
    Fact fact;
    const char* why;
  };
  for (const Case& c : std::vector<Case>{
           {"evaluator", EvaluatorGone("it cannot work"), "it cannot work"},
           {"accuracy",
            WorkerSaid{ConnectionId(9), protocol::Evaluated{Version(1), 0.1, std::nullopt, 100,
                                                            "a tuple without a tensor"}},
            "there is no accuracy: a tuple without a tensor"}}) {
    SCOPED_TRACE(c.name);
    CoordinatorOptions options = Evaluated(0.98);
    options.epochs_max = 0;
    Job job(options);
    job.Opened({{1, 0}});
    job.JoinEvaluator(9);
    Step(job, 1);
    job.Step(c.fact);
    EXPECT_FALSE(job.Has<Finished>());
    if (!job.Has<SaveModel>()) Step(job, 2);  // What was on its way is committed yet.
    const Version saved = job.Last<SaveModel>().version;
    job.Step(ModelSaved{saved, {1, 0}, ""});
    if (!job.Has<Finished>())
      job.Hear(9, protocol::Evaluated{saved, 0.1, std::nullopt, 100, "a tuple without a tensor"});
    const Finished finished = job.Last<Finished>();
    EXPECT_FALSE(finished.is_success);
    EXPECT_TRUE(finished.is_unjudged);
    EXPECT_EQ(finished.reason, std::string("target Accuracy >= 0.98 cannot be judged: ") + c.why);
  }
}

TEST(FinishingTest, AnAccuracyThatIsUnknownIsNoNumber) {
  Job job(Evaluated(0));
  job.Opened({{1, 0}});
  job.JoinEvaluator(9);
  Step(job, 1);
  job.Hear(9, protocol::Evaluated{Version(1), 0.1, std::nullopt, 100, "a scalar"});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  Step(job, 2);
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  job.Hear(9, protocol::Evaluated{Version(2), 0.1, std::nullopt, 100, "a scalar"});
  EXPECT_EQ(job.outcome(),
            "stopped after 1 epochs; target Accuracy >= 0 cannot be judged: there is no accuracy: "
            "a scalar");
}

TEST(FinishingTest, LateWorkersAreRefused) {
  Job job(OneWorker());
  job.Opened({{1, 0}});
  Step(job, 1);
  Step(job, 2);
  job.Join(2, 1);
  EXPECT_EQ(job.Sent<protocol::Refused>(2).reason, protocol::RefuseReason::kFinished);
}

TEST(FinishingTest, LossOfAnEvaluatorUnpins) {
  CoordinatorOptions options = Evaluated(0.98);
  options.epochs_max = 10;
  Job job(options);
  job.Opened({{1, 0}});
  job.JoinEvaluator(9);
  Step(job, 1);
  job.Step(WorkerGone{ConnectionId(9)});
  EXPECT_EQ(job.AllOrdered<protocol::Unpin>().at(0).version, Version(1));
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
}

TEST(FinishingTest, EvaluatorOfAnotherModelIsRefusedWhenTheModelIsKnown) {
  Job job(OneWorker());
  job.Hear(9, protocol::Join{protocol::Role::kEvaluator, WorkerId(), testing::Model(7), 0});
  EXPECT_TRUE(job.WasSent<protocol::Admitted>(9));
  job.Join(1, 0);
  EXPECT_EQ(job.Sent<protocol::Refused>(9).reason, protocol::RefuseReason::kLayoutDiffers);
  EXPECT_TRUE(job.WasClosed(9));
}

TEST(FinishingTest, StopCommitsWhatIsAccumulatedAndDropsWhatComesLater) {
  CoordinatorOptions options = OneWorker();
  options.workers_wanted = 2;
  options.epochs_max = 10;
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.Step(StopAsked{"interrupted"});
  EXPECT_EQ(job.AllOrdered<protocol::CommitAll>().size(), 1u);
  EXPECT_FALSE(job.Has<SaveModel>());
  job.PushFor(2);
  EXPECT_EQ(job.AllOrdered<protocol::DropOrder>().size(), 1u);
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.Last<SaveModel>().version, Version(1));
  job.Step(ModelSaved{Version(1), {1, 0}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "interrupted");
}

TEST(FinishingTest, FailuresEndAtOnceUnsaved) {
  struct Case {
    const char* name;
    Fact fact;
    const char* outcome;
  };
  for (const Case& c : std::vector<Case>{
           {"stop", StopAsked{"deadline exceeded", StopKind::kFail}, "deadline exceeded"}}) {
    SCOPED_TRACE(c.name);
    Job job(OneWorker());
    job.Opened({{1, 0}});
    job.PushFor(1);
    job.Step(c.fact);
    EXPECT_FALSE(job.Last<Finished>().is_success);
    EXPECT_TRUE(std::holds_alternative<Finished>(job.effects.back()));
    EXPECT_EQ(job.outcome(), c.outcome);
    EXPECT_FALSE(job.Has<SaveModel>());
    EXPECT_TRUE(job.WasSent<protocol::Finish>(1));
    EXPECT_EQ(job.coordinator.Deadline(), std::nullopt);
    const size_t effects = job.effects.size();
    job.PushFor(1);
    job.CommittedEverywhere(1);
    EXPECT_EQ(job.effects.size(), effects);
  }
}

TEST(FinishingTest, StopBeforeTrainingLeavesNoModel) {
  Job job(OneWorker());
  job.Join(1, 0);
  job.Step(StopAsked{"interrupted"});
  EXPECT_FALSE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "stopped before training opened: interrupted");
}

}  // namespace
}  // namespace paceline::coordination
