// Workers that a version did not wait for: what they are offered, and which samples they get.
#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using protocol::PushDone;
using testing::Job;
using ::testing::SizeIs;
using testing::TwoWorkers;

std::vector<Version> OffersTo(const Job& job, uint64_t connection) {
  std::vector<Version> versions;
  for (const auto& offered : job.AllSent<protocol::Offered>(connection))
    versions.push_back(offered.version);
  return versions;
}

using Ranges = std::vector<protocol::SampleRange>;

Ranges LeaseOf(const Job& job, uint64_t connection) {
  return job.Sent<protocol::Released>(connection).lease.ranges;
}

// Of BackupWorkers, by the worker of the first connection alone.
void CommitByTheFirst(Job& job) {
  job.PushFor(1);
  job.CommittedEverywhere(job.coordinator.status().version.value() + 1);
}

void GiveUpInterrupted(Job& job, uint64_t connection, uint64_t worker) {
  const int before = job.SentCount<protocol::Interrupted>(connection);
  job.coordinator.Step(Decided{{sync::Interrupt{WorkerId(worker)}}}, job.now, job.effects);
  ASSERT_EQ(job.SentCount<protocol::Interrupted>(connection), before + 1);
  const PushDone step = job.Answer(connection);
  job.Hear(connection,
           protocol::Abandoned{step.sequence, sync::AbandonReason::kInterrupted, 0, step.leases});
}

// It would be late with them again; whoever is in time takes them over.
TEST(LateWorkers, ALateWorkerGoesOnWithOtherSamples) {
  for (const bool is_interrupted : {false, true}) {
    Job job(TwoWorkers(), sync::Scheme::kBackupWorkers);
    job.samples = 64;
    job.Opened({{1, 0}, {2, 1}});
    ASSERT_EQ(LeaseOf(job, 2), (Ranges{{0, 4, 8}}));
    CommitByTheFirst(job);
    is_interrupted ? GiveUpInterrupted(job, 2, 1) : job.PushFor(2);  // Superseded.
    EXPECT_EQ(LeaseOf(job, 2), (Ranges{{0, 12, 16}}));
    CommitByTheFirst(job);
    EXPECT_EQ(LeaseOf(job, 1), (Ranges{{0, 4, 8}}));
    // Of its steps each one is cheaply ended, however often.
    for (int i = 0; i < 5; ++i) {
      const Ranges before = LeaseOf(job, 2);
      GiveUpInterrupted(job, 2, 1);
      EXPECT_NE(LeaseOf(job, 2), before);
      CommitByTheFirst(job);
    }
    EXPECT_TRUE(job.coordinator.Check().ok());
  }
}

// Each epoch is done in about as many versions as its samples need, ten here, whoever is slow.
TEST(LateWorkers, SamplesOfASlowWorkerAreCountedWithTheirEpoch) {
  for (const bool is_interrupted : {false, true}) {
    CoordinatorOptions options = TwoWorkers();
    options.workers_wanted = 4;
    options.global_batch_size = 16;
    options.epochs_max = 3;
    Job job(options, sync::Scheme::kBackupWorkers);
    job.samples = 120;
    job.Opened({{1, 0}, {2, 1}, {3, 2}, {4, 3}});
    uint64_t version = 0;
    for (; job.coordinator.epochs()[0].free + job.coordinator.epochs()[0].leased > 0; ++version) {
      ASSERT_LT(version, 16u);
      for (const uint64_t connection : {1, 2, 3}) job.PushFor(connection);
      job.CommittedEverywhere(version + 1);
      if (is_interrupted) {
        GiveUpInterrupted(job, 4, 3);
      } else if (version % 4 == 3) {
        job.PushFor(4);
      }
      ASSERT_TRUE(job.coordinator.Check().ok());
    }
    EXPECT_EQ(job.coordinator.epochs()[0].committed, 120u);
  }
}

// Where nothing but what came back is left, a late worker does not take it from those who wait.
TEST(LateWorkers, ALateWorkerLeavesTheLastSamplesToWhoIsInTime) {
  CoordinatorOptions options = TwoWorkers();
  options.epochs_max = 1;
  Job job(options, sync::Scheme::kBackupWorkers);
  job.samples = 8;
  job.Opened({{1, 0}, {2, 1}});
  CommitByTheFirst(job);  // Nothing is left for it.
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 1);
  job.PushFor(2);  // Superseded.
  EXPECT_EQ(job.SentCount<protocol::Released>(2), 1);
  EXPECT_EQ(LeaseOf(job, 1), (Ranges{{0, 4, 8}}));
  // If that one is lost, it takes them after all.
  job.Step(WorkerGone{ConnectionId(1)});
  EXPECT_EQ(job.SentCount<protocol::Released>(2), 2);
  EXPECT_EQ(LeaseOf(job, 2), (Ranges{{0, 4, 8}}));
  job.PushFor(2);
  job.CommittedEverywhere(2);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
}

// Whoever is late takes them where nobody waits.
TEST(LateWorkers, ALateWorkerTakesTheLastSamplesIfItIsAlone) {
  CoordinatorOptions options = TwoWorkers();
  options.epochs_max = 1;
  Job job(options, sync::Scheme::kBackupWorkers);
  job.samples = 12;
  job.Opened({{1, 0}, {2, 1}});
  CommitByTheFirst(job);  // It has the last ones now.
  job.PushFor(2);         // Superseded.
  EXPECT_EQ(LeaseOf(job, 2), (Ranges{{0, 4, 8}}));
  EXPECT_TRUE(job.coordinator.Check().ok());
}

// An overflow or a batch that did not fit is no lateness, nor is what was lost by accident.
TEST(LateWorkers, OnlyWhatAVersionDidNotWaitForIsLate) {
  for (const auto reason : {sync::AbandonReason::kOverflow, sync::AbandonReason::kOutOfMemory}) {
    Job job(TwoWorkers());
    job.Opened({{1, 0}, {2, 1}});
    const PushDone step = job.Answer(1);
    job.Hear(1, protocol::Abandoned{step.sequence, reason, 4, step.leases});
    EXPECT_EQ(LeaseOf(job, 1), (Ranges{{0, 0, 4}}));
  }
}

// Of its new life nothing is known.
TEST(LateWorkers, ANewLifeIsNotLate) {
  Job job(TwoWorkers(), sync::Scheme::kBackupWorkers);
  job.Opened({{1, 0}, {2, 1}});
  CommitByTheFirst(job);
  job.PushFor(2);  // Superseded.
  job.Step(WorkerGone{ConnectionId(2)});
  job.Join(3, 1);
  CommitByTheFirst(job);
  EXPECT_EQ(LeaseOf(job, 3), (Ranges{{0, 4, 8}}));
  EXPECT_EQ(LeaseOf(job, 1), (Ranges{{0, 12, 16}}));
}

TEST(LateWorkers, ALateWorkerIsOfferedAVersionOnceAllShardsHaveIt) {
  CoordinatorOptions options = TwoWorkers();
  options.shards = 2;
  Job job(options, sync::Scheme::kBackupWorkers);
  job.Opened({{1, 0}, {2, 1}});
  for (const uint64_t version : {1, 2}) {
    job.PushFor(1);
    job.Committed(1, version);
    EXPECT_THAT(OffersTo(job, 2), SizeIs(version - 1));
    job.Committed(0, version);
    ASSERT_THAT(OffersTo(job, 2), SizeIs(version));
    EXPECT_EQ(OffersTo(job, 2).back(), Version(version));
  }
  // Releases come first: workers wait for them.
  const auto is_to = [](uint64_t connection) {
    return [connection](const Effect& effect) {
      const auto* send = std::get_if<SendWorker>(&effect);
      return send != nullptr && send->connection == ConnectionId(connection);
    };
  };
  EXPECT_LT(std::find_if(job.effects.rbegin(), job.effects.rend(), is_to(2)),
            std::find_if(job.effects.rbegin(), job.effects.rend(), is_to(1)));
  EXPECT_THAT(OffersTo(job, 1), SizeIs(0));
  job.PushFor(2);  // Superseded.
  EXPECT_EQ(job.Sent<protocol::Released>(2).version, Version(2));
  EXPECT_THAT(OffersTo(job, 2), SizeIs(2));
}

TEST(LateWorkers, WhoHasPushedBeforeAVersionIsPublishedIsReleasedAndNotOfferedIt) {
  Job job(TwoWorkers(), sync::Scheme::kBackupWorkers);
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.PushFor(2);  // Superseded.
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.Sent<protocol::Released>(2).version, Version(1));
  EXPECT_THAT(OffersTo(job, 2), SizeIs(0));
}

TEST(LateWorkers, ANewLifeHearsNoOffersOfTheOneBefore) {
  Job job(TwoWorkers(), sync::Scheme::kBackupWorkers);
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.Step(WorkerGone{ConnectionId(2)});
  job.Join(3, 1);
  job.CommittedEverywhere(1);
  EXPECT_THAT(OffersTo(job, 3), SizeIs(0));
}

// It has only to finish, or to drop what it does.
TEST(LateWorkers, NothingIsOfferedWhenTrainingIsOver) {
  CoordinatorOptions options = TwoWorkers();
  options.steps_max = 1;
  Job job(options, sync::Scheme::kBackupWorkers);
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  EXPECT_THAT(OffersTo(job, 2), SizeIs(0));
}

// The version exists whatever becomes of the policy: who is busy may have it.
TEST(LateWorkers, AnOfferOutlivesThePolicyThatDecidedIt) {
  Job job(TwoWorkers(), sync::Scheme::kBackupWorkers);
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.ChangeTo(sync::Scheme::kAsp);
  job.CommittedEverywhere(1);
  EXPECT_TRUE(job.Has<PolicyChanged>());
  EXPECT_THAT(OffersTo(job, 2), ::testing::ElementsAre(Version(1)));
  job.PushFor(2);
  EXPECT_EQ(job.Sent<protocol::Released>(2).version, Version(1));
}

}  // namespace
}  // namespace paceline::coordination
