#include "lib/coordination/phases/recovering.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using ::testing::SizeIs;

CoordinatorOptions TwoShards(bool has_checkpoints) {
  CoordinatorOptions options;
  options.shards = 2;
  options.workers_wanted = 2;
  options.workers_max = 4;
  options.global_batch_size = 8;
  options.epochs_max = 2;
  options.schedule.base = 0.5;
  if (has_checkpoints) {
    options.checkpoint.emplace();
    options.checkpoint->period = Seconds(1);
  }
  return options;
}

// Version 1 is published and, with checkpoints, kept; worker 0 has pushed towards version 2.
void TrainOneStep(Job& job, bool has_checkpoints) {
  job.Opened({{1, 0}, {2, 1}});
  if (has_checkpoints) job.Keep();
  job.PassBeating(Seconds(1), {1, 2});
  job.PushFor(1);
  job.PushFor(2);
  job.CommittedEverywhere(1);
  if (has_checkpoints) job.Keep();
  job.PushFor(1);
}

TEST(RecoveringTest, LostShardTakesAllBackToTheCheckpoint) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.Step(ShardGone{ShardId(1), "killed"});
  EXPECT_EQ(job.Last<RolledBack>().generation, (Generation{1, 1}));
  EXPECT_EQ(job.Last<RolledBack>().version, Version(1));
  EXPECT_EQ(job.Last<RolledBack>().reason,
            "shard s1 lost: killed; back to version 1, checkpoint 000002-g1.0-v1");
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_TRUE(job.WasClosed(2));
  Status status = job.coordinator.status();
  EXPECT_EQ(status.phase, Phase::kStartup);
  EXPECT_EQ(status.startup_waits_for, "shards s1");
  EXPECT_EQ(status.roll_backs, 1u);
  EXPECT_EQ(status.rolled_back_from, Version(1));  // The second step was under way.
  EXPECT_EQ(status.rolled_back_to, Version(1));
  EXPECT_EQ(status.committed_samples, 8u);
  EXPECT_EQ(status.version, Version(1));

  // What the other shard still said of the old generation changes nothing.
  job.Committed(0, 2);
  job.Register(1);
  const auto configure = job.Last<ConfigureShards>();
  ASSERT_TRUE(configure.restore.has_value());
  EXPECT_EQ(configure.restore->checkpoint, "000002-g1.0-v1");
  EXPECT_EQ(configure.restore->slices.at(1).bytes, 11u);
  job.OpenedAgain({1, 1}, true, {{3, 0}, {4, 1}});
  EXPECT_EQ(job.Last<TrainingOpened>().version, Version(1));
  EXPECT_EQ(job.Last<TrainingOpened>().committed_samples, 8u);
  EXPECT_EQ(job.Sent<protocol::Admitted>(3).generation, (Generation{1, 1}));
  EXPECT_EQ(job.Sent<protocol::Admitted>(3).incarnation, Incarnation(2));
  EXPECT_EQ(job.Sent<protocol::Released>(3).version, Version(1));
  EXPECT_FALSE(job.WasSent<protocol::Fill>(3));
  job.PushFor(3);
  job.PushFor(4);
  job.CommittedEverywhere(2);
  EXPECT_EQ(job.coordinator.status().committed_samples, 16u);
  EXPECT_TRUE(job.coordinator.Check().ok()) << job.coordinator.Check();
  EXPECT_EQ(job.coordinator.epochs()[0].committed, 16u);
}

// What they were to train on is to be trained on again.
TEST(RecoveringTest, ScriptsThatHadEndedAreWantedAgain) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.Hear(1, protocol::Leaving{.is_done = true});
  ASSERT_TRUE(job.coordinator.status().workers[0].has_ended);
  job.Step(ShardGone{ShardId(1), "killed"});
  EXPECT_FALSE(job.coordinator.status().workers[0].has_ended);
}

TEST(RecoveringTest, WithoutACheckpointTheJobBeginsAnew) {
  Job job(TwoShards(false));
  TrainOneStep(job, false);
  job.Step(ShardGone{ShardId(1), "killed"});
  EXPECT_EQ(job.Last<RolledBack>().version, std::nullopt);
  EXPECT_THAT(job.Last<RolledBack>().reason, HasSubstr("no checkpoint to go back to, begun anew"));
  job.Register(1);
  EXPECT_FALSE(job.Last<ConfigureShards>().restore.has_value());
  job.OpenedAgain({1, 1}, false, {{3, 0}, {4, 1}});
  EXPECT_TRUE(job.WasSent<protocol::Fill>(3));
  EXPECT_EQ(job.Sent<protocol::Released>(3).version, Version(0));
  EXPECT_EQ(job.coordinator.status().committed_samples, 0u);
  EXPECT_EQ(job.coordinator.status().workers[0].samples_committed, 0u);
}

// What a roll back costs: steps, and training since the cut that is gone back to.
TEST(RecoveringTest, WhatWasLostIsCounted) {
  for (const bool has_checkpoints : {true, false}) {
    Job job(TwoShards(has_checkpoints));
    TrainOneStep(job, has_checkpoints);  // One second in, to version 1.
    job.PassBeating(Seconds(0.5), {1, 2});
    job.PassBeating(Seconds(2), {1, 2});
    job.PushFor(2);
    job.CommittedEverywhere(2);
    const Time before = job.now;
    job.Step(ShardGone{ShardId(1), "killed"});
    const uint64_t steps = has_checkpoints ? 1 : 2;
    const Duration training = before - Time(Seconds(100)) - Seconds(has_checkpoints ? 1 : 0);
    EXPECT_EQ(job.Last<RolledBack>().steps_lost, steps);
    EXPECT_EQ(job.Last<RolledBack>().training_lost, training);
    job.Register(1);
    job.OpenedAgain({1, 1}, has_checkpoints, {{3, 0}, {4, 1}});
    job.PassBeating(Seconds(1), {3, 4});
    job.Step(ShardGone{ShardId(0), "killed"});
    const Status status = job.coordinator.status();
    EXPECT_EQ(status.last_lost.steps, 0u);
    EXPECT_EQ(status.last_lost.training, Duration(Seconds(1)));
    EXPECT_EQ(status.lost.steps, steps);
    EXPECT_EQ(status.lost.training, training + Seconds(1));
  }
}

TEST(RecoveringTest, ShardThatFailsIsConfiguredAnew) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.Say(0, protocol::ShardFailed{"no such push", {1, 0}});
  EXPECT_EQ(job.Last<ConfigureShards>().generation, (Generation{1, 1})) << "it is still there";
  job.Say(0, protocol::ShardFailed{"no such push", {1, 0}});
  EXPECT_EQ(job.coordinator.status().generation, (Generation{1, 1})) << "of the old generation";
}

TEST(RecoveringTest, DamagedCheckpointFallsBackToTheOneBefore) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.Step(ShardGone{ShardId(1), "killed"});
  job.Register(1);
  job.Say(0, protocol::Configured{{1, 1}});
  job.Say(1, protocol::RestoreFailed{"slice is damaged", {1, 1}});
  EXPECT_EQ(job.Last<RolledBack>().generation, (Generation{1, 2}));
  EXPECT_EQ(job.Last<RolledBack>().version, Version(0));
  EXPECT_EQ(job.Last<CheckpointEvent>().problem,
            "checkpoint 000002-g1.0-v1 cannot be restored: shard s1: slice is damaged");
  job.Say(0, protocol::RestoreFailed{"missing", {1, 2}});
  EXPECT_FALSE(job.Last<Finished>().is_success);
  EXPECT_THAT(job.outcome(), HasSubstr("move it away to begin anew"));
}

// With keep: 1 the disk may have the new one in its place before the coordinator has heard of it.
TEST(RecoveringTest, WaitsForTheCheckpointThatIsTakingTheOnlyOnesPlace) {
  for (const std::string problem : {"", "no space left"}) {
    CoordinatorOptions options = TwoShards(true);
    options.checkpoint->keep = 1;
    Job job(options);
    job.Opened({{1, 0}, {2, 1}});
    job.Keep();
    job.PassBeating(Seconds(1), {1, 2});
    job.PushFor(1);
    job.PushFor(2);
    job.CommittedEverywhere(1);
    const auto order = job.AllOrdered<protocol::SaveSlice>().back();
    for (uint64_t s = 0; s < 2; ++s)
      job.Say(s, protocol::SliceSaved{order.checkpoint, {10 + s, "digest"}, ""});
    const CompleteCheckpoint late = job.Last<CompleteCheckpoint>();
    EXPECT_THAT(late.keep, ElementsAre(EndsWith("-v1")));
    job.Step(ShardGone{ShardId(1), "killed"});
    EXPECT_EQ(job.Last<RolledBack>().version, Version(0));
    job.Register(1);
    job.Say(0, protocol::RestoreFailed{"missing", {1, 1}});
    job.Say(1, protocol::RestoreFailed{"missing", {1, 1}});
    EXPECT_EQ(job.outcome(), "");
    job.Step(CheckpointSaved{late.checkpoint, problem});
    if (problem.empty()) {
      EXPECT_EQ(job.Last<RolledBack>().version, Version(1));
      EXPECT_EQ(job.outcome(), "");
    } else {
      EXPECT_THAT(job.outcome(), HasSubstr("move it away to begin anew"));
    }
  }
}

TEST(RecoveringTest, LossAgainAndAgainWithoutProgressEndsTheJob) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.Step(ShardGone{ShardId(1), "killed"});
  for (uint64_t counter = 1; counter < 5; ++counter) {
    job.Register(1);
    job.OpenedAgain({1, counter}, true, {{10 * counter, 0}, {10 * counter + 1, 1}});
    ASSERT_EQ(job.coordinator.status().phase, Phase::kTraining) << counter;
    job.Step(ShardGone{ShardId(1), "killed"});
  }
  EXPECT_FALSE(job.Has<Finished>());
  job.Register(1);
  job.OpenedAgain({1, 5}, true, {{100, 0}, {101, 1}});
  job.Step(ShardGone{ShardId(1), "killed"});
  EXPECT_EQ(job.outcome(),
            "shard s1 lost: killed; 5 times rolled back without getting any further");
}

TEST(RecoveringTest, LossAgainAndAgainOfShardsThatWorkMeanwhileIsForOthersToCount) {
  Job job(TwoShards(false));
  TrainOneStep(job, false);
  uint64_t connection = 10;
  for (uint64_t counter = 1; counter <= 12; ++counter) {
    job.Step(ShardGone{ShardId(1), "killed"});
    ASSERT_FALSE(job.Has<Finished>()) << counter;
    job.Register(1);
    job.OpenedAgain({1, counter}, false, {{connection, 0}, {connection + 1, 1}}, counter + 1);
    ASSERT_EQ(job.coordinator.status().phase, Phase::kTraining) << counter;
    job.PushFor(connection);
    job.PushFor(connection + 1);
    job.CommittedEverywhere(1);
    ASSERT_EQ(job.coordinator.status().committed_samples, 8u) << counter;
    connection += 2;
  }
}

TEST(RecoveringTest, ShardThatStaysAwayIsNamed) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.Step(ShardGone{ShardId(1), "killed"});
  job.Pass(Seconds(600));
  EXPECT_EQ(job.outcome(), "shards did not register within 600 s: s1");
}

// Two of two were there; one stays away: after a while the other goes on alone.
TEST(RecoveringTest, WaitsAWhileForThoseWhoWereThere) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.Step(ShardGone{ShardId(1), "killed"});
  job.Register(1);
  job.OpenedAgain({1, 1}, true, {{3, 0}});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kStartup);
  job.PassBeating(Seconds(30), {3});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  EXPECT_EQ(job.Last<TrainingOpened>().workers, 1u);
}

TEST(RecoveringTest, NewCoordinatorGoesOnFromWhatWasFound) {
  Job before(TwoShards(true));
  TrainOneStep(before, true);
  CoordinatorOptions options = TwoShards(true);
  options.generation = {2, 0};
  options.checkpoint->serial = 2;
  options.checkpoint->found = {before.Last<CompleteCheckpoint>().checkpoint};
  options.checkpoint->found[0].state.policy = "learnt";
  Job job(options);
  job.Register(0);
  EXPECT_FALSE(job.Has<ConfigureShards>());
  job.Register(1);
  ASSERT_TRUE(job.Last<ConfigureShards>().restore.has_value()) << "no worker is needed for that";
  EXPECT_EQ(job.Last<ConfigureShards>().restore->version, Version(1));
  job.OpenedAgain({2, 0}, true, {{1, 0}, {2, 1}});
  EXPECT_EQ(job.Last<TrainingOpened>().policy, "learnt");
  EXPECT_EQ(job.coordinator.status().restored_from, Version(1));
  EXPECT_EQ(job.coordinator.status().committed_samples, 8u);
  job.PushFor(1);
  job.PushFor(2);
  EXPECT_EQ(job.AllOrdered<protocol::CommitAll>().back().commit.version, Version(2));
}

TEST(RecoveringTest, OtherModelThanTheCheckpointsIsRefused) {
  Job before(TwoShards(true));
  TrainOneStep(before, true);
  CoordinatorOptions options = TwoShards(true);
  options.checkpoint->found = {before.Last<CompleteCheckpoint>().checkpoint};
  Job job(options);
  job.Hear(1, protocol::Join{protocol::Role::kWorker, WorkerId(0), testing::Model(5), 16});
  EXPECT_EQ(job.Sent<protocol::Refused>(1).detail,
            "tensor w has shape [5], want [4] as checkpoint 000002-g1.0-v1 has it");
}

// All was done but the model: no worker is needed for that.
TEST(RecoveringTest, LossAfterTheLastCommitOnlySavesTheModelAgain) {
  CoordinatorOptions options = TwoShards(true);
  options.epochs_max = 1;
  Job job(options);
  TrainOneStep(job, true);
  job.PushFor(2);
  job.CommittedEverywhere(2);
  job.Keep();
  ASSERT_EQ(job.Last<SaveModel>().generation, (Generation{1, 0}));
  job.Step(ShardGone{ShardId(1), "killed"});
  job.Step(ModelSaved{Version(2), {1, 0}, "shard s1 is gone", true});
  job.Register(1);
  job.OpenedAgain({1, 1}, true, {});
  EXPECT_EQ(job.Last<SaveModel>().generation, (Generation{1, 1}));
  job.Step(ModelSaved{Version(2), {1, 1}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
}

TEST(RecoveringTest, ModelIsFetchedAgainBeforeTheJobFails) {
  CoordinatorOptions options = TwoShards(false);
  options.epochs_max = 1;
  Job job(options);
  TrainOneStep(job, false);
  job.PushFor(2);
  job.CommittedEverywhere(2);
  for (int i = 1; i <= 4; ++i) {
    job.Step(ModelSaved{Version(2), {1, 0}, "shard s1 does not answer", true});
    EXPECT_FALSE(job.Has<Finished>());
    job.Pass(Seconds(2));
  }
  job.Step(ModelSaved{Version(2), {1, 0}, "shard s1 does not answer", true});
  EXPECT_EQ(job.outcome(), "the final model cannot be saved: shard s1 does not answer");
}

// --- Gradients that are not finite.

void PushNonFinite(Job& job, uint64_t connection) {
  protocol::PushDone done = job.Answer(connection);
  done.gradient.is_finite = false;
  job.Hear(connection, done);
}

TEST(RecoveringTest, NonFiniteGradientsHalveTheRateThreeTimesAndThenFail) {
  Job job(TwoShards(true));
  TrainOneStep(job, true);
  job.PushFor(2);
  for (uint64_t counter = 1; counter <= 3; ++counter) {
    const uint64_t first = 10 * counter, second = first + 1;
    if (counter > 1) {
      PushNonFinite(job, first - 10);
      PushNonFinite(job, second - 10);
    } else {
      job.CommittedEverywhere(2);
      PushNonFinite(job, 1);
      PushNonFinite(job, 2);
    }
    ASSERT_EQ(job.Last<RolledBack>().generation.counter, counter);
    job.OpenedAgain({1, counter}, true, {{first, 0}, {second, 1}}, counter + 1);
  }
  EXPECT_THAT(job.coordinator.status().last_roll_back,
              HasSubstr("from here the learning rate is multiplied by 0.125"));
  PushNonFinite(job, 30);
  PushNonFinite(job, 31);
  // From the second time on there was the first checkpoint only.
  EXPECT_THAT(job.outcome(), HasSubstr("gradients are not finite: w0, w1 at version v0; rolled "
                                       "back 3 times, the learning rate times 0.125"));
}

TEST(RecoveringTest, NonFiniteGradientsEndTheJobWhereThatIsAskedFor) {
  CoordinatorOptions options = TwoShards(true);
  options.non_finite.action = NonFiniteAction::kFail;
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  job.Keep();
  PushNonFinite(job, 1);
  PushNonFinite(job, 2);
  EXPECT_FALSE(job.Has<RolledBack>());
  EXPECT_EQ(job.outcome(),
            "gradients are not finite: w0, w1 at version v0; training.nonFinite.action is Fail");
}

int64_t CountForsaken(const Job& job) {
  return std::count_if(job.effects.begin(), job.effects.end(), [](const Effect& effect) {
    return std::holds_alternative<ForsakeCheckpoints>(effect);
  });
}

// What it went back to the first time may hold the cause.
TEST(RecoveringTest, FromTheSecondTimeInARowItGoesOneCheckpointFurther) {
  CoordinatorOptions options = TwoShards(true);
  options.epochs_max = 20;
  options.non_finite = {.learning_rate_factor = 0.25, .limit = 10};
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  job.Keep();
  uint64_t first = 1;  // Connection of worker 0; worker 1 has the next one.
  const auto step = [&](uint64_t version) {
    job.PassBeating(Seconds(1), {first, first + 1});
    job.PushFor(first);
    job.PushFor(first + 1);
    job.CommittedEverywhere(version);
    job.Keep();
  };
  const auto fall_ill = [&](uint64_t counter) {
    PushNonFinite(job, first);
    PushNonFinite(job, first + 1);
    ASSERT_EQ(job.Last<RolledBack>().generation.counter, counter);
    first += 10;
    job.OpenedAgain({1, counter}, true, {{first, 0}, {first + 1, 1}}, counter + 1);
  };
  step(1);
  step(2);
  fall_ill(1);
  EXPECT_EQ(job.Last<RolledBack>().version, Version(2));
  EXPECT_FALSE(job.Has<ForsakeCheckpoints>());
  fall_ill(2);
  EXPECT_EQ(job.Last<RolledBack>().version, Version(1));
  // A coordinator that dies from here on must not go on from what was skipped.
  EXPECT_THAT(job.Last<ForsakeCheckpoints>().names, ElementsAre(EndsWith("-v2")));
  EXPECT_THAT(job.Last<RolledBack>().reason, HasSubstr("multiplied by 0.0625"));
  fall_ill(3);
  EXPECT_EQ(job.Last<RolledBack>().version, Version(0));
  EXPECT_THAT(job.Last<ForsakeCheckpoints>().names, ElementsAre(EndsWith("-v1")));
  fall_ill(4);  // There is none before.
  EXPECT_EQ(job.Last<RolledBack>().version, Version(0));
  EXPECT_EQ(CountForsaken(job), 2) << "the last one stays";
  // It gets further, and tries all samples that were suspected: not in a row.
  for (uint64_t version = 1; version <= 5; ++version) step(version);
  fall_ill(5);
  EXPECT_EQ(job.Last<RolledBack>().version, Version(5));
}

// Its disk is slow: when the job goes back for the second time in a row, it is not known yet
// whether the newest is there, nor whether those that it does not keep still are.
TEST(RecoveringTest, ACheckpointThatIsCompletedTooLateIsForsakenToo) {
  CoordinatorOptions options = TwoShards(true);
  options.epochs_max = 20;
  options.checkpoint->keep = 2;
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  job.Keep();
  uint64_t first = 1;
  const auto step = [&](uint64_t version) {
    job.PassBeating(Seconds(1), {first, first + 1});
    job.PushFor(first);
    job.PushFor(first + 1);
    job.CommittedEverywhere(version);
  };
  const auto fall_ill = [&](uint64_t counter) {
    PushNonFinite(job, first);
    PushNonFinite(job, first + 1);
    ASSERT_EQ(job.Last<RolledBack>().generation.counter, counter);
    first += 10;
    job.OpenedAgain({1, counter}, true, {{first, 0}, {first + 1, 1}}, counter + 1);
  };
  step(1);
  job.Keep();
  step(2);
  const auto order = job.AllOrdered<protocol::SaveSlice>().back();
  ASSERT_THAT(order.checkpoint, EndsWith("-v2"));
  for (uint64_t s = 0; s < 2; ++s)
    job.Say(s, protocol::SliceSaved{order.checkpoint, {10 + s, "digest"}, ""});
  const CompleteCheckpoint late = job.Last<CompleteCheckpoint>();
  EXPECT_THAT(late.keep, ElementsAre(EndsWith("-v1"), EndsWith("-v2")));
  fall_ill(1);
  EXPECT_EQ(job.Last<RolledBack>().version, Version(1));
  fall_ill(2);
  EXPECT_EQ(job.Last<RolledBack>().version, Version(1)) << "version 0 may be gone by now";
  EXPECT_EQ(CountForsaken(job), 0);
  job.Step(CheckpointSaved{late.checkpoint, ""});
  EXPECT_THAT(job.Last<ForsakeCheckpoints>().names, ElementsAre(order.checkpoint));
  fall_ill(3);
  EXPECT_EQ(job.Last<RolledBack>().version, Version(1));
}

TEST(RecoveringTest, DampedRateIsKeptAndSaved) {
  Job job(TwoShards(true));
  job.Opened({{1, 0}, {2, 1}});
  job.Keep();
  PushNonFinite(job, 1);
  PushNonFinite(job, 2);
  job.OpenedAgain({1, 1}, true, {{3, 0}, {4, 1}});
  job.PassBeating(Seconds(1), {3, 4});
  job.PushFor(3);
  job.PushFor(4);
  EXPECT_DOUBLE_EQ(job.AllOrdered<protocol::CommitAll>().back().commit.learning_rate, 0.25);
  job.CommittedEverywhere(1);
  job.Keep();
  const Checkpoint kept = job.Last<CompleteCheckpoint>().checkpoint;
  EXPECT_EQ(kept.state.damping, (Damping{1, 0.5}));
  CoordinatorOptions options = TwoShards(true);
  options.generation = {2, 0};
  options.checkpoint->found = {kept};
  Job next(options);
  next.Register(0);
  next.Register(1);
  next.OpenedAgain({2, 0}, true, {{1, 0}, {2, 1}});
  next.PushFor(1);
  next.PushFor(2);
  EXPECT_DOUBLE_EQ(next.AllOrdered<protocol::CommitAll>().back().commit.learning_rate, 0.25);
}

}  // namespace
}  // namespace paceline::coordination
