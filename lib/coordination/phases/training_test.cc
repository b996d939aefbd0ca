#include "lib/coordination/phases/training.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using protocol::PushDone;
using ::testing::HasSubstr;
using testing::Job;
using ::testing::SizeIs;
using testing::TwoWorkers;

TEST(TrainingTest, AWorkerThatBreaksTheProtocolIsExpelled) {
  struct Case {
    const char* name;
    std::function<void(PushDone&)> spoil;
    const char* detail;
  };
  for (const Case& c : std::vector<Case>{
           {"generation", [](PushDone& d) { d.generation.counter = 7; },
            "generation g1.7, want g1.0"},
           {"gap", [](PushDone& d) { d.sequence = Sequence(2); }, "#2 is out of order"},
           {"zero", [](PushDone& d) { d.sequence = Sequence(0); }, "#0 is out of order"},
           {"samples", [](PushDone& d) { d.samples = 3; }, "3 samples, want the 4"},
           {"nothing",
            [](PushDone& d) {
              d.samples = 0;
              d.leases.clear();
            },
            "0 samples"},
           {"another's lease", [](PushDone& d) { d.leases[0] = d.leases[0].Next(); },
            "not held by w0"},
           {"lease twice", [](PushDone& d) { d.leases.push_back(d.leases[0]); }, "named twice"},
           {"skipped", [](PushDone& d) { d.skipped = 5; }, "skips 5 samples of 4"},
           {"future version", [](PushDone& d) { d.based_on = Version(1); }, "unpublished v1"},
           {"no such tensor",
            [](PushDone& d) {
              d.without_gradient = {0, 99};
            },
            "tensor 99 without gradient is no parameter"},
           {"a tensor twice",
            [](PushDone& d) {
              d.without_gradient = {0, 0};
            },
            "tensor 0 without gradient is out of order"}}) {
    SCOPED_TRACE(c.name);
    Job job(TwoWorkers());
    job.Opened({{1, 0}, {2, 1}});
    PushDone done = job.Answer(1);
    c.spoil(done);
    job.Hear(1, done);
    EXPECT_THAT(job.Sent<protocol::Expelled>(1).reason, HasSubstr(c.detail));
    EXPECT_TRUE(job.WasClosed(1));
    EXPECT_EQ(job.Last<WorkerEvent>().kind, WorkerEventKind::kExpelled);
    EXPECT_THAT(job.AllOrdered<protocol::Fence>(), SizeIs(1));
    EXPECT_EQ(job.coordinator.epochs()[0].leased, 4u);  // The other's.
    job.Join(3, 0);                                     // A new life may do better.
    EXPECT_EQ(job.Sent<protocol::Admitted>(3).incarnation, Incarnation(2));
  }
}

TEST(TrainingTest, ACommitCountsWhatWasNotSkipped) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  PushDone some = job.Answer(1), none = job.Answer(2);
  some.skipped = 1;
  some.gradient.loss = 2;
  none.skipped = 4;
  none.gradient.loss = 0;
  job.Hear(1, some);
  job.Hear(2, none);
  const auto order = job.AllOrdered<protocol::CommitAll>().back();
  ASSERT_THAT(order.pushes, SizeIs(2));
  EXPECT_EQ(order.pushes[0].weight, 3);
  EXPECT_EQ(order.pushes[1].weight, 0);
  EXPECT_DOUBLE_EQ(order.commit.gradient_scale, 1.0 / 3);
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.coordinator.status().committed_samples, 8u);
  EXPECT_EQ(job.coordinator.status().skipped_samples, 5u);
  EXPECT_EQ(job.coordinator.status().loss, 2) << "of the samples that count";
  EXPECT_EQ(job.coordinator.epochs()[0].skipped, 5u);
  EXPECT_EQ(job.Last<VersionPublished>().skipped_samples, 5u);
}

TEST(TrainingTest, AnEpochOfWhichNothingWasLearntEndsTheJob) {
  for (const uint32_t skipped : {3u, 4u}) {
    Job job(TwoWorkers());
    job.Opened({{1, 0}, {2, 1}});
    for (uint64_t version = 1; job.coordinator.status().epoch == 0 && !job.Has<Finished>();
         ++version) {
      for (const uint64_t connection : {1, 2}) {
        PushDone done = job.Answer(connection);
        done.skipped = std::min(skipped, done.samples);
        job.Hear(connection, done);
      }
      job.CommittedEverywhere(version);
    }
    ASSERT_EQ(job.Has<Finished>(), skipped == 4) << skipped;
    if (skipped < 4) continue;
    EXPECT_FALSE(job.Last<Finished>().is_success);
    EXPECT_THAT(job.Last<Finished>().reason, HasSubstr("epoch 0 had no step"));
  }
}

TEST(TrainingTest, AJobThatEndsWithoutAStepFails) {
  for (const bool is_asked : {false, true}) {
    CoordinatorOptions options = TwoWorkers();
    options.epochs_max = 10;
    options.steps_max = is_asked ? 1 : 0;
    Job job(options);
    job.Opened({{1, 0}, {2, 1}});
    for (const uint64_t connection : {1, 2}) {
      PushDone done = job.Answer(connection);
      done.skipped = done.samples;
      job.Hear(connection, done);
    }
    job.CommittedEverywhere(1);
    if (!is_asked) {
      for (const uint64_t connection : {1, 2})
        job.Hear(connection, protocol::Leaving{.is_done = true});
    }
    ASSERT_TRUE(job.Has<Finished>()) << is_asked;
    EXPECT_FALSE(job.Last<Finished>().is_success);
    EXPECT_THAT(job.Last<Finished>().reason, HasSubstr("the job had no step"));
  }
}

TEST(TrainingTest, ACommitSaysWhatNoneOfItsPushesHadAGradientOf) {
  for (const bool is_said_by_both : {true, false}) {
    Job job(TwoWorkers());
    job.Opened({{1, 0}, {2, 1}});
    for (const uint64_t connection : {1, 2}) {
      PushDone done = job.Answer(connection);
      if (connection == 1 || is_said_by_both) done.without_gradient = {0};
      job.Hear(connection, done);
    }
    const auto commits = job.AllOrdered<protocol::CommitAll>();
    ASSERT_FALSE(commits.empty());
    EXPECT_EQ(commits.back().commit.without_gradient,
              is_said_by_both ? std::vector<uint32_t>{0} : std::vector<uint32_t>());
  }
}

TEST(TrainingTest, APushSaidTwiceCountsOnce) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  const PushDone done = job.Answer(1);
  job.Hear(1, done);
  job.Hear(1, done);
  EXPECT_THAT(job.AllOrdered<protocol::AccumulateOrder>(), SizeIs(1));
  EXPECT_FALSE(job.WasClosed(1));
  EXPECT_EQ(job.coordinator.status().workers[0].steps, 1u);
}

TEST(TrainingTest, ASilentWorkerIsLostAndItsLatePushUnheard) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(2);
  const PushDone late = job.Answer(1);
  job.PassBeating(Seconds(6), {2});
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_EQ(job.Last<WorkerEvent>().kind, WorkerEventKind::kSilent);
  EXPECT_THAT(job.AllOrdered<protocol::CommitAll>(), SizeIs(1));  // The barrier opened without it.
  job.Hear(1, late);
  job.Step(WorkerGone{ConnectionId(1)});
  EXPECT_THAT(job.AllOrdered<protocol::AccumulateOrder>(), SizeIs(1));
  EXPECT_TRUE(job.coordinator.Check().ok());
  EXPECT_EQ(job.coordinator.epochs()[0].free, 12u);
}

// What a script leaves behind, or a machine that nobody reaches: it beats on while its successor
// comes.
TEST(TrainingTest, ANewerStartTakesTheSeatOfOneThatLives) {
  Job job(TwoWorkers());
  const auto join = [&](uint64_t connection, uint32_t worker, std::optional<uint64_t> attempt) {
    job.Step(WorkerSaid{ConnectionId(connection),
                        protocol::Join{.worker = WorkerId(worker),
                                       .layout = coordination::testing::Model(),
                                       .train_samples = 16,
                                       .attempt = attempt}});
  };
  join(1, 0, 3);
  join(2, 1, 0);
  job.Hear(1, protocol::Heartbeat{});
  for (const auto& [connection, attempt] :
       std::vector<std::pair<uint64_t, std::optional<uint64_t>>>{
           {3, 3}, {4, 2}, {5, std::nullopt}}) {
    join(connection, 0, attempt);
    EXPECT_EQ(job.Sent<protocol::Refused>(connection).reason,
              protocol::RefuseReason::kAlreadyJoined);
    EXPECT_FALSE(job.WasClosed(1));
  }
  join(6, 0, 4);
  EXPECT_EQ(job.Sent<protocol::Expelled>(1).reason, "start 4 of it took the place of start 3");
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_EQ(job.Sent<protocol::Admitted>(6).incarnation, Incarnation(2));
  EXPECT_EQ(job.coordinator.status().workers[0].expulsions, 0u);  // It did nothing wrong.
  join(7, 0, 3);                                                  // The old one tries again.
  EXPECT_EQ(job.Sent<protocol::Refused>(7).reason, protocol::RefuseReason::kAlreadyJoined);
  EXPECT_FALSE(job.WasClosed(6));
  EXPECT_TRUE(job.coordinator.Check().ok());
}

TEST(TrainingTest, AnAccumulatedPushOutlivesItsWorker) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.Step(WorkerGone{ConnectionId(1)});
  job.PushFor(2);
  EXPECT_THAT(job.AllOrdered<protocol::CommitAll>().at(0).pushes, SizeIs(2));
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.coordinator.status().committed_samples, 8u);
}

TEST(TrainingTest, TwoLossesAtOnceAreToldOneAfterTheOther) {
  CoordinatorOptions options = TwoWorkers();
  options.workers_wanted = 3;
  options.global_batch_size = 12;
  options.is_deterministic = true;  // Pushes stay staged until the barrier opens.
  Job job(options);
  job.Opened({{1, 0}, {2, 1}, {3, 2}});
  job.PushFor(1);
  job.PushFor(2);
  job.now += Seconds(6);
  job.Hear(1, protocol::Heartbeat{});
  job.Step(DeadlineReached{});
  // Losing w1 leaves w2 to wait for; losing w2 opens the barrier for w0 alone.
  EXPECT_TRUE(job.WasClosed(2));
  EXPECT_TRUE(job.WasClosed(3));
  ASSERT_THAT(job.AllOrdered<protocol::CommitAll>(), SizeIs(1));
  EXPECT_THAT(job.AllOrdered<protocol::CommitAll>()[0].pushes, SizeIs(1));
  EXPECT_TRUE(job.coordinator.Check().ok());
}

TEST(TrainingTest, AbandonedStepGivesItsSamplesBack) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  const PushDone step = job.Answer(1);
  job.Hear(1,
           protocol::Abandoned{step.sequence, sync::AbandonReason::kOutOfMemory, 2, step.leases});
  EXPECT_THAT(job.AllSent<protocol::Released>(1), SizeIs(2));
  EXPECT_EQ(job.Sent<protocol::Released>(1).assignment.samples, 2u);
  EXPECT_EQ(job.Sent<protocol::Released>(1).lease.ranges[0], (protocol::SampleRange{0, 0, 2}));
}

// Nobody is to blame, and the same samples come again.
TEST(TrainingTest, AnOverflowIsCountedAndGivesItsSamplesBack) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  for (const double scale : {32768.0, 16384.0}) {
    const PushDone step = job.Answer(1);
    job.Hear(1, protocol::Abandoned{.sequence = step.sequence,
                                    .reason = sync::AbandonReason::kOverflow,
                                    .leases = step.leases,
                                    .loss_scale = scale});
  }
  const auto released = job.AllSent<protocol::Released>(1);
  ASSERT_THAT(released, SizeIs(3));
  EXPECT_EQ(released[2].lease.ranges, released[0].lease.ranges);
  EXPECT_EQ(released[2].assignment.samples, released[0].assignment.samples);
  const Status status = job.coordinator.status();
  EXPECT_EQ(status.workers[0].overflows, 2u);
  EXPECT_EQ(status.workers[0].loss_scale, 16384);
  EXPECT_EQ(status.workers[1].overflows, 0u);
  EXPECT_EQ(status.nonfinite_pushes, 0u);
  EXPECT_FALSE(job.WasClosed(1));
  EXPECT_TRUE(job.coordinator.Check().ok());
}

// Its push may be on its way: it must not take the next step for the one that is meant.
TEST(TrainingTest, AnInterruptNamesTheStepInWork) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  const auto interrupt = [&job](uint64_t worker) {
    job.coordinator.Step(Decided{{sync::Interrupt{WorkerId(worker)}}}, job.now, job.effects);
  };
  interrupt(1);
  EXPECT_EQ(job.Sent<protocol::Interrupted>(2).sequence, Sequence(1));
  const PushDone step = job.Answer(2);
  job.Hear(2,
           protocol::Abandoned{step.sequence, sync::AbandonReason::kInterrupted, 0, step.leases});
  interrupt(1);
  EXPECT_EQ(job.Sent<protocol::Interrupted>(2).sequence, Sequence(2));
  job.PushFor(1);
  interrupt(0);
  EXPECT_EQ(job.Sent<protocol::Interrupted>(1).sequence, Sequence(2));
  EXPECT_EQ(job.SentCount<protocol::Interrupted>(1), 1);
}

TEST(TrainingTest, WhatIsDroppedComesBackOrStaysOut) {
  for (const OnDrop on_drop : {OnDrop::kReturn, OnDrop::kDiscard}) {
    CoordinatorOptions options = TwoWorkers();
    options.on_drop = on_drop;
    Job job(options, sync::Scheme::kBackupWorkers);
    job.Opened({{1, 0}, {2, 1}});
    job.PushFor(1);
    job.CommittedEverywhere(1);
    job.PushFor(2);  // Superseded.
    EXPECT_THAT(job.AllOrdered<protocol::DropOrder>(), SizeIs(1));
    EXPECT_EQ(job.coordinator.epochs()[0].discarded, on_drop == OnDrop::kDiscard ? 4u : 0u);
    EXPECT_EQ(job.coordinator.status().workers[1].dropped, 1u);
    EXPECT_TRUE(job.coordinator.Check().ok());
  }
}

TEST(TrainingTest, EndsWhenItsLastSamplesAreLeftOut) {
  CoordinatorOptions options = TwoWorkers();
  options.on_drop = OnDrop::kDiscard;
  options.epochs_max = 1;
  Job job(options, sync::Scheme::kBackupWorkers);
  job.Opened({{1, 0}, {2, 1}});
  const auto step_of_the_first = [&job] {
    job.PushFor(1);
    job.CommittedEverywhere(job.coordinator.status().version.value() + 1);
  };
  while (job.coordinator.epochs()[0].free > 0) step_of_the_first();
  step_of_the_first();
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  job.PushFor(2);  // Superseded, with the last samples.
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
}

TEST(TrainingTest, GradientsThatAreNotFiniteRollBackByName) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  for (const uint64_t connection : {1, 2}) {
    PushDone done = job.Answer(connection);
    done.gradient.is_finite = false;
    done.non_finite_tensor = connection == 1 ? "conv1.weight" : "fc.bias";
    job.Hear(connection, done);
  }
  EXPECT_THAT(job.Last<RolledBack>().reason,
              ::testing::StartsWith("gradients are not finite: w0, w1 at version v0, first in "
                                    "conv1.weight; from here"));
  EXPECT_FALSE(job.Ordered<protocol::AccumulateOrder>());
}

TEST(TrainingTest, LearningRateFollowsCommittedSamples) {
  CoordinatorOptions options = TwoWorkers();
  options.schedule.base = 1;
  options.schedule.kind = optim::ScheduleKind::kLinear;
  options.schedule.total_samples = 32;
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  for (uint64_t version = 1; version <= 3; ++version) {
    job.PushFor(1);
    job.PushFor(2);
    EXPECT_DOUBLE_EQ(job.AllOrdered<protocol::CommitAll>().back().commit.learning_rate,
                     1 - 0.25 * static_cast<double>(version - 1));
    job.CommittedEverywhere(version);
  }
}

TEST(TrainingTest, PeriodsOfTheLearningRateAreOfTheTrainingSet) {
  CoordinatorOptions options = TwoWorkers();
  options.schedule.base = 1;
  options.schedule.kind = optim::ScheduleKind::kCosineRestarts;
  options.schedule_period_epochs = 1;  // Two steps.
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  for (const double rate : {1.0, 0.5, 1.0, 0.5}) {
    job.PushFor(1);
    job.PushFor(2);
    const protocol::CommitAll commit = job.AllOrdered<protocol::CommitAll>().back();
    EXPECT_DOUBLE_EQ(commit.commit.learning_rate, rate);
    job.CommittedEverywhere(commit.commit.version.value());
  }
}

TEST(TrainingTest, ALateJoinerIsAdmittedToldShardsAndReleasedAtTheNextCommit) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  job.Join(3, 2);
  EXPECT_TRUE(job.WasSent<protocol::Shards>(3));
  EXPECT_FALSE(job.WasSent<protocol::Fill>(3));
  EXPECT_FALSE(job.WasSent<protocol::Released>(3));
  job.PushFor(1);
  job.PushFor(2);
  job.CommittedEverywhere(1);
  EXPECT_TRUE(job.WasSent<protocol::Released>(3));
}

TEST(TrainingTest, ADrainedWorkerIsSentHome) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  job.Hear(1, protocol::Leaving{});
  EXPECT_EQ(job.Sent<protocol::Finish>(1).reason, "drained");
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_EQ(job.coordinator.epochs()[0].leased, 4u);
}

TEST(TrainingTest, TheJobEndsWhenAllScriptsHaveEnded) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.PushFor(2);
  job.CommittedEverywhere(1);
  job.Hear(1, protocol::Leaving{.is_done = true});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  EXPECT_TRUE(job.coordinator.status().workers[0].has_ended);
  EXPECT_FALSE(job.coordinator.status().workers[1].has_ended);
  job.Hear(2, protocol::Leaving{.is_done = true});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  EXPECT_TRUE(job.coordinator.status().have_scripts_ended);
  EXPECT_EQ(job.coordinator.status().stop_reason, "all scripts ended after 0.5 epochs");
  job.Step(ModelSaved{Version(1), {1, 0}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
}

TEST(TrainingTest, WhoIsAskedToLeaveOrIsLostIsStillToCome) {
  for (const bool is_lost : {false, true}) {
    Job job(TwoWorkers());
    job.Opened({{1, 0}, {2, 1}});
    job.Hear(1, protocol::Leaving{.is_done = true});
    if (is_lost) {
      job.Step(WorkerGone{ConnectionId(2)});
    } else {
      job.Hear(2, protocol::Leaving{});
    }
    EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
    job.Join(3, 1);
    job.Hear(3, protocol::Leaving{.is_done = true});
    EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  }
}

TEST(TrainingTest, AScriptThatIsStartedAgainHasNotEnded) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  job.Hear(1, protocol::Leaving{.is_done = true});
  job.Join(3, 0);
  EXPECT_FALSE(job.coordinator.status().workers[0].has_ended);
  job.Hear(2, protocol::Leaving{.is_done = true});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
}

TEST(TrainingTest, WhoIsNotWantedDoesNotCountAmongTheScriptsThatEnded) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}, {3, 2}});
  job.Hear(1, protocol::Leaving{.is_done = true});
  job.Hear(3, protocol::Leaving{.is_done = true});
  job.Step(WorkerGone{ConnectionId(2)});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
}

TEST(TrainingTest, WordsOfStrangersAreIgnored) {
  Job job(TwoWorkers());
  job.Opened({{1, 0}, {2, 1}});
  const size_t effects = job.effects.size();
  job.Hear(77, protocol::Heartbeat{});
  job.Hear(77, job.Answer(1));
  job.Step(WorkerGone{ConnectionId(77)});
  job.Say(5, protocol::Committed{Version(1), {}});
  job.Step(ModelSaved{Version(9), {1, 0}, ""});
  job.Step(Decided{{sync::Accumulate{WorkerId(0), Sequence(9), 1}, sync::Commit{},
                    sync::Drop{WorkerId(9), Sequence(1)}, sync::Release{.worker = WorkerId(9)},
                    sync::Expel{WorkerId(9)}, sync::Interrupt{WorkerId(9)}}});
  EXPECT_EQ(job.effects.size(), effects);
}

TEST(TrainingTest, APushBeforeTrainingIsAProtocolError) {
  Job job(TwoWorkers());
  job.Configured({{1, 0}});
  job.Hear(1, PushDone{});
  EXPECT_THAT(job.Sent<protocol::Expelled>(1).reason, HasSubstr("before training"));
}

}  // namespace
}  // namespace paceline::coordination
