#include "lib/coordination/phases/changing.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using testing::Job;
using ::testing::SizeIs;
using testing::TwoWorkers;

class ChangingTest : public ::testing::Test {
 protected:
  ChangingTest() : job(TwoWorkers(4)) { job.Opened({{1, 0}, {2, 1}}); }

  Job job;
};

TEST_F(ChangingTest, ANewPolicyIsMadeOnceAllThatWasCommittedIsPublished) {
  job.PushFor(1);
  job.ChangeTo(sync::Scheme::kSsp);
  // What was accumulated is published by the old policy.
  EXPECT_THAT(job.AllOrdered<protocol::CommitAll>(), SizeIs(1));
  EXPECT_FALSE(job.Has<PolicyChanged>());
  EXPECT_TRUE(job.coordinator.status().is_changing_policy);
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.Last<PolicyChanged>().version, Version(1));
  EXPECT_EQ(job.Last<PolicyChanged>().workers, 1u);  // The other one is in the middle of a step.
  EXPECT_FALSE(job.coordinator.status().is_changing_policy);
  EXPECT_EQ(job.Sent<protocol::Released>(1).version, Version(1));
  EXPECT_EQ(job.SentCount<protocol::Released>(2), 1);
}

TEST_F(ChangingTest, ALatePushIsDroppedItsSamplesGoBackAndItsWorkerJoins) {
  job.ChangeTo(sync::Scheme::kSsp);
  EXPECT_EQ(job.Last<PolicyChanged>().workers, 0u);
  EXPECT_EQ(job.coordinator.epochs()[0].free, 8u);
  job.PushFor(1);
  EXPECT_THAT(job.AllOrdered<protocol::DropOrder>(), SizeIs(1));
  EXPECT_EQ(job.coordinator.status().workers[0].dropped, 1u);
  // Released anew; alone for now, it gets a whole batch.
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 2);
  EXPECT_EQ(job.coordinator.epochs()[0].free, 4u);
  EXPECT_TRUE(job.coordinator.Check().ok());
}

TEST_F(ChangingTest, ALateWorkerThatDiesIsForgotten) {
  job.ChangeTo(sync::Scheme::kSsp);
  job.Step(WorkerGone{ConnectionId(1)});
  EXPECT_EQ(job.coordinator.epochs()[0].leased, 4u);  // The other's.
  job.PushFor(2);
  EXPECT_EQ(job.SentCount<protocol::Released>(2), 2);
}

TEST_F(ChangingTest, WhoFindsNoSamplesHearsWhenALateWorkerIsLost) {
  CoordinatorOptions options = TwoWorkers(4);
  options.global_batch_size = 4;
  Job small(options);
  small.samples = 4;
  small.Opened({{1, 0}, {2, 1}});
  small.PushFor(1);
  small.ChangeTo(sync::Scheme::kSsp);
  small.CommittedEverywhere(1);
  const int released = small.SentCount<protocol::Released>(1);
  small.Step(WorkerGone{ConnectionId(2)});
  EXPECT_GE(small.SentCount<protocol::Released>(1), std::max(released, 2));
  EXPECT_TRUE(small.coordinator.Check().ok());
}

TEST_F(ChangingTest, ALateStepMayBeAbandoned) {
  job.ChangeTo(sync::Scheme::kSsp);
  job.Hear(1, protocol::Abandoned{.sequence = Sequence(1),
                                  .reason = sync::AbandonReason::kOutOfMemory,
                                  .samples_fit = 2,
                                  .leases = {job.Sent<protocol::Released>(1).lease.id}});
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 2);
  EXPECT_TRUE(job.coordinator.Check().ok());
}

TEST_F(ChangingTest, AJobThatFinishesInTheMiddleOfAChangeFinishes) {
  job.PushFor(1);
  job.ChangeTo(sync::Scheme::kSsp);
  job.Step(StopAsked{"enough"});
  job.CommittedEverywhere(1);
  EXPECT_FALSE(job.Has<PolicyChanged>());
  EXPECT_TRUE(job.Has<SaveModel>());
}

TEST_F(ChangingTest, NumbersOfWorkersAreTakenOverWithoutANewPolicy) {
  job.Step(SpecChanged{.workers_wanted = 3, .workers_min = 2, .is_policy_changed = false});
  EXPECT_FALSE(job.Has<PolicyChanged>());
  job.Join(3, 2);
  job.PushFor(1);
  job.PushFor(2);
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.SentCount<protocol::Released>(3), 1);
}

TEST_F(ChangingTest, KnobsOfTheSameSchemeAreTakenOverWithoutAStop) {
  job.ChangeTo(sync::Scheme::kSsp);
  job.PushFor(1);  // Late for BSP; SSP releases both at once.
  job.PushFor(2);
  const size_t dropped = job.AllOrdered<protocol::DropOrder>().size();
  const int released = job.SentCount<protocol::Released>(1);
  ASSERT_EQ(released, 2);
  sync::PolicySpec spec{.scheme = sync::Scheme::kSsp, .global_batch_size = 8, .staleness = 0};
  const auto reconfigure = [&] {
    job.Step(SpecChanged{.workers_wanted = 2, .workers_min = 1, .reconfigured = spec});
  };
  reconfigure();
  EXPECT_FALSE(job.coordinator.status().is_changing_policy);
  // The step that is under way counts, and its worker waits: nobody may be ahead now...
  job.PushFor(1);
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.SentCount<protocol::Released>(1), released);
  // ...until it may again, at once, though the other has not moved.
  spec.staleness = 4;
  reconfigure();
  EXPECT_EQ(job.SentCount<protocol::Released>(1), released + 1);
  EXPECT_EQ(job.AllOrdered<protocol::DropOrder>().size(), dropped);
  EXPECT_TRUE(job.coordinator.Check().ok());
}

TEST(ChangingStartupTest, WaitsForAsManyAsAreWantedNow) {
  Job job(TwoWorkers(4));
  job.Step(SpecChanged{.workers_wanted = 1, .workers_min = 1, .is_policy_changed = true});
  job.Opened({{1, 0}});
  EXPECT_EQ(job.Last<TrainingOpened>().wanted, 1u);
  EXPECT_FALSE(job.Has<PolicyChanged>());
}

TEST_F(ChangingTest, ADrainedWorkerFinishesItsPushAndGoes) {
  job.Step(DrainAsked{{{"", 0}}});
  EXPECT_FALSE(job.WasSent<protocol::Finish>(1));
  EXPECT_TRUE(job.coordinator.status().workers[0].is_draining);
  job.PushFor(1);
  EXPECT_EQ(job.Sent<protocol::Finish>(1).reason, "drained");
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_FALSE(job.coordinator.status().workers[0].is_member);
  // Its push counts.
  job.PushFor(2);
  EXPECT_THAT(job.AllOrdered<protocol::CommitAll>()[0].pushes, SizeIs(2));
}

TEST_F(ChangingTest, ADrainedWorkerThatWaitsGoesAtOnce) {
  job.PushFor(1);
  job.Step(DrainAsked{{{"", 0}}});
  EXPECT_EQ(job.Sent<protocol::Finish>(1).reason, "drained");
  EXPECT_THAT(job.AllOrdered<protocol::DropOrder>(), SizeIs(0));
}

TEST_F(ChangingTest, ADrainedWorkerGetsNoMoreWork) {
  job.ChangeTo(sync::Scheme::kAsp);
  job.PushFor(1);
  job.CommittedEverywhere(1);
  ASSERT_EQ(job.SentCount<protocol::Released>(1), 2);
  job.Step(DrainAsked{{{"", 0}, {"", 3}}});  // There is no w3.
  job.PushFor(1);                            // ASP would release it at once.
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 2);
  EXPECT_TRUE(job.WasSent<protocol::Finish>(1));
  EXPECT_TRUE(job.coordinator.Check().ok());
  // Its index may come back.
  job.Join(5, 0);
  EXPECT_TRUE(job.WasSent<protocol::Admitted>(5));
}

TEST_F(ChangingTest, ALateWorkerMayBeDrained) {
  job.ChangeTo(sync::Scheme::kSsp);
  job.Step(DrainAsked{{{"", 0}}});
  job.PushFor(1);
  EXPECT_TRUE(job.WasSent<protocol::Finish>(1));
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 1);
  EXPECT_TRUE(job.coordinator.Check().ok());
}

// --- Eager pull: a worker holds a spare lease, and pushes only when the push before was answered.

class EagerTest : public ::testing::Test {
 protected:
  void Open(uint64_t samples, uint64_t epochs) {
    CoordinatorOptions options = TwoWorkers(4);
    options.epochs_max = epochs;
    job.emplace(options, sync::Scheme::kPsPlus);
    job->samples = samples;
    job->Opened({{1, 0}, {2, 1}});
  }
  // Of the worker's first lease, or its spare one.
  void Push(uint64_t connection, uint64_t sequence) {
    const protocol::Lease lease = sequence == 1
                                      ? job->AllSent<protocol::Released>(connection)[0].lease
                                      : job->AllSent<protocol::Continued>(connection)[0].lease;
    job->Hear(connection, protocol::PushDone{.generation = {1, 0},
                                             .sequence = Sequence(sequence),
                                             .based_on = Version(0),
                                             .samples = 4,
                                             .leases = {lease.id}});
  }

  std::optional<Job> job;
};

TEST_F(EagerTest, AnAnswerWithoutSamplesGoesToWhomIsToPushAnother) {
  Open(16, 1);
  Push(1, 1);
  job->CommittedEverywhere(1);
  const auto answer = job->Sent<protocol::Released>(1);
  EXPECT_EQ(answer.version, Version(1));
  EXPECT_EQ(answer.includes, Sequence(1));
  EXPECT_TRUE(answer.lease.ranges.empty());
  Push(1, 2);
  job->CommittedEverywhere(2);
  // It has nothing to push any more.
  EXPECT_EQ(job->SentCount<protocol::Released>(1), 2);
  EXPECT_TRUE(job->coordinator.Check().ok());
}

TEST_F(EagerTest, WhoIsLateIsAnsweredUntilItHasPushedAllThatItHasLeasesFor) {
  Open(16, 4);
  job->ChangeTo(sync::Scheme::kBsp);
  EXPECT_EQ(job->Last<PolicyChanged>().workers, 0u);
  EXPECT_TRUE(job->Sent<protocol::Released>(1).lease.ranges.empty());
  Push(1, 1);
  EXPECT_TRUE(job->Sent<protocol::Released>(1).lease.ranges.empty());
  EXPECT_EQ(job->Sent<protocol::Released>(1).includes, Sequence(1));
  Push(1, 2);
  EXPECT_THAT(job->AllOrdered<protocol::DropOrder>(), SizeIs(2));
  const auto released = job->Sent<protocol::Released>(1);
  EXPECT_EQ(released.assignment.pacing, sync::Pacing::kWait);
  EXPECT_FALSE(released.lease.ranges.empty());
  EXPECT_TRUE(job->coordinator.Check().ok());
}

TEST_F(EagerTest, WhoIsToLeaveIsAnsweredSoThatItCanPush) {
  Open(16, 4);
  Push(1, 1);
  job->Step(DrainAsked{{{"", 0}}});
  job->CommittedEverywhere(1);
  EXPECT_TRUE(job->Sent<protocol::Released>(1).lease.ranges.empty());
  EXPECT_FALSE(job->WasSent<protocol::Finish>(1));
  Push(1, 2);
  EXPECT_TRUE(job->WasSent<protocol::Finish>(1));
}

// Eight samples of sixteen a step; four epochs are eight steps.
class CourseTest : public ChangingTest {
 protected:
  static Course CourseOf(uint64_t epochs_max, uint64_t steps_max, double base = 0.1) {
    Course course{epochs_max, steps_max, {}};
    course.schedule.base = base;
    course.schedule.kind = optim::ScheduleKind::kLinear;
    return course;
  }
  void SetCourse(const Course& course) {
    SpecChanged changed{2, 1, false};
    changed.course = course;
    job.Step(changed);
  }
  void TrainTo(uint64_t version) {
    for (uint64_t next = job.coordinator.status().version.value() + 1; next <= version; ++next) {
      job.PushFor(1);
      job.PushFor(2);
      job.CommittedEverywhere(next);
    }
  }
  double RateOfLastCommit() {
    return job.AllOrdered<protocol::CommitAll>().back().commit.learning_rate;
  }
};

TEST_F(CourseTest, MoreEpochsGoOnAndFewerEndThere) {
  TrainTo(3);
  SetCourse(CourseOf(2, 0));
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  TrainTo(4);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  EXPECT_TRUE(job.coordinator.Check().ok());
}

TEST_F(CourseTest, MoreEpochsThanThereWereAreTrained) {
  TrainTo(7);
  SetCourse(CourseOf(5, 0));
  TrainTo(9);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
  TrainTo(10);
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
  EXPECT_EQ(job.coordinator.epochs().size(), 5u);
}

TEST_F(CourseTest, WhatIsPassedAlreadyMeansStopWithTheNextCommit) {
  for (const Course& course : {CourseOf(2, 0), CourseOf(0, 3)}) {
    Job now(TwoWorkers(4));
    now.Opened({{1, 0}, {2, 1}});
    for (uint64_t next = 1; next <= 5; ++next) {
      now.PushFor(1);
      now.PushFor(2);
      now.CommittedEverywhere(next);
    }
    SpecChanged changed{2, 1, false};
    changed.course = course;
    now.Step(changed);
    EXPECT_EQ(now.coordinator.status().phase, Phase::kTraining);  // Two are at work.
    now.PushFor(1);
    now.PushFor(2);
    now.CommittedEverywhere(6);
    EXPECT_EQ(now.coordinator.status().phase, Phase::kFinishing);
    EXPECT_TRUE(now.coordinator.Check().ok());
  }
}

// Half of the way is half of the way: the rate goes on from there, of what is the whole now.
TEST_F(CourseTest, TheScheduleKeepsItsPlaceInSamples) {
  SetCourse(CourseOf(4, 0, 0.1));
  TrainTo(5);
  EXPECT_DOUBLE_EQ(RateOfLastCommit(), 0.1 * (1 - 4.0 / 8));
  SetCourse(CourseOf(8, 0, 0.4));
  TrainTo(6);
  EXPECT_DOUBLE_EQ(RateOfLastCommit(), 0.4 * (1 - 5.0 / 16));
  EXPECT_DOUBLE_EQ(job.Sent<protocol::Released>(1).learning_rate, 0.4 * (1 - 6.0 / 16));
}

// A roll back of this coordinator's goes on with what was set last.
TEST_F(CourseTest, OutlivesARollBack) {
  TrainTo(3);
  SetCourse(CourseOf(2, 0));
  job.Step(ShardGone{ShardId(0), "gone"});
  const Generation again{1, 1};
  job.Register(0);
  job.OpenedAgain(again, false, {{3, 0}, {4, 1}});
  for (uint64_t next = 1; next <= 4; ++next) {
    job.PushFor(3);
    job.PushFor(4);
    job.CommittedEverywhere(next);
  }
  EXPECT_EQ(job.coordinator.status().phase, Phase::kFinishing);
}

}  // namespace
}  // namespace paceline::coordination
