// A job with several groups of workers, as the coordinator sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using protocol::Seat;
using ::testing::HasSubstr;
using testing::Job;

CoordinatorOptions BigAndSmall() {
  CoordinatorOptions options;
  options.groups = {{.name = "big", .wanted = 1, .min = 1},
                    {.name = "small", .wanted = 2, .min = 1}};
  options.workers_wanted = 3;
  options.workers_min = 2;
  options.workers_max = 6;
  options.global_batch_size = 12;
  options.epochs_max = 4;
  return options;
}

class GroupsTest : public ::testing::Test {
 protected:
  explicit GroupsTest(CoordinatorOptions options = BigAndSmall()) : job(options) {}

  void Join(uint64_t connection, const Seat& seat) {
    job.Hear(connection, protocol::Join{.role = protocol::Role::kWorker,
                                        .worker = WorkerId(seat.index),
                                        .layout = testing::Model(),
                                        .train_samples = job.samples,
                                        .group = seat.group});
  }
  void OpenShards(const WorkerId& filler) {
    job.Say(0, protocol::Configured{{1, 0}});
    job.Say(0, protocol::Filled{filler, Incarnation(1)});
    job.Say(0, protocol::Opened{});
  }
  // All that are wanted, the last first.
  void Open() {
    job.Register(0);
    Join(1, {"small", 1});
    OpenShards(WorkerId(2));
    Join(2, {"small", 0});
    Join(3, {"big", 0});
  }

  Job job;
};

TEST_F(GroupsTest, NumbersDoNotDependOnWhoComesFirst) {
  Open();
  EXPECT_EQ(job.Sent<protocol::Admitted>(1).worker, WorkerId(2));
  EXPECT_EQ(job.Sent<protocol::Admitted>(2).worker, WorkerId(1));
  EXPECT_EQ(job.Sent<protocol::Admitted>(3).worker, WorkerId(0));
  const Status status = job.coordinator.status();
  EXPECT_EQ(status.workers.at(0).seat, (Seat{"big", 0}));
  EXPECT_EQ(status.workers.at(2).seat, (Seat{"small", 1}));
}

TEST_F(GroupsTest, ShardsAreToldWhoseCertificateSpeaksForANumber) {
  Open();
  const auto admits = job.AllOrdered<protocol::Admit>();
  ASSERT_EQ(admits.size(), 3u);
  EXPECT_EQ(admits[0].worker, WorkerId(2));
  EXPECT_EQ(admits[0].seat, (Seat{"small", 1}));
  EXPECT_EQ(admits[2].seat, (Seat{"big", 0}));
}

TEST_F(GroupsTest, EventsNameTheGroup) {
  Open();
  EXPECT_EQ(job.Last<WorkerEvent>().kind, WorkerEventKind::kJoined);
  EXPECT_EQ(ToString(job.Last<WorkerEvent>().seat), "big/0");
  Join(4, {"small", 1});
  EXPECT_THAT(job.Sent<protocol::Refused>(4).detail, HasSubstr("small/1 has joined already"));
  EXPECT_EQ(ToString(job.Last<WorkerEvent>().seat), "small/1");
}

TEST_F(GroupsTest, TrainingWaitsForEachGroupsOwn) {
  job.Register(0);
  Join(1, {"small", 0});
  OpenShards(WorkerId(1));
  Join(2, {"small", 1});
  Join(3, {"small", 2});  // One that is not wanted any more, and makes up for nobody.
  EXPECT_EQ(job.coordinator.status().phase, Phase::kStartup);
  EXPECT_THAT(job.coordinator.status().startup_waits_for, HasSubstr("big: 0 of 1"));
  Join(4, {"big", 0});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
}

TEST_F(GroupsTest, AfterTheScheduleTimeoutEachGroupsMinimumIsEnough) {
  job.Register(0);
  Join(1, {"small", 1});
  OpenShards(WorkerId(2));
  Join(2, {"big", 0});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kStartup);
  job.PassBeating(Seconds(601), {1, 2});
  EXPECT_EQ(job.coordinator.status().phase, Phase::kTraining);
}

TEST_F(GroupsTest, AGroupThatIsNeededAndDoesNotComeIsNamed) {
  job.Register(0);
  Join(1, {"small", 0});
  OpenShards(WorkerId(1));
  Join(2, {"small", 1});
  job.PassBeating(Seconds(601), {1, 2});
  EXPECT_EQ(job.outcome(), "2 of at least 2 workers joined within 600 s, big: 0 of 1");
}

TEST_F(GroupsTest, ScalingAGroupRenumbersNobody) {
  Open();
  SpecChanged changed{.workers_wanted = 4, .workers_min = 2};
  changed.groups = {{.name = "big", .wanted = 2, .min = 1},
                    {.name = "small", .wanted = 2, .min = 1}};
  job.Step(changed);
  Join(4, {"big", 1});
  EXPECT_EQ(job.Sent<protocol::Admitted>(4).worker, WorkerId(3));
  job.Step(WorkerGone{ConnectionId(2)});
  Join(5, {"small", 0});
  EXPECT_EQ(job.Sent<protocol::Admitted>(5).worker, WorkerId(1));
  EXPECT_EQ(job.Sent<protocol::Admitted>(5).incarnation, Incarnation(2));
}

TEST_F(GroupsTest, WhatAChangeAddsIsNumberedInTheOrderOfTheGroups) {
  Open();
  SpecChanged changed{.workers_wanted = 5, .workers_min = 2};
  changed.groups = {{.name = "big", .wanted = 2, .min = 1},
                    {.name = "small", .wanted = 3, .min = 1}};
  job.Step(changed);
  Join(4, {"small", 2});  // The last of them comes first.
  Join(5, {"big", 1});
  EXPECT_EQ(job.Sent<protocol::Admitted>(4).worker, WorkerId(4));
  EXPECT_EQ(job.Sent<protocol::Admitted>(5).worker, WorkerId(3));
}

// No checkpoint, and so nothing to go back to but the start.
TEST_F(GroupsTest, AJobThatBeginsAnewRenumbersNobody) {
  Open();
  Join(4, {"late", 0});
  Join(5, {"small", 2});
  job.Step(ShardGone{ShardId(0), "killed"});
  ASSERT_EQ(job.coordinator.status().phase, Phase::kStartup);
  Join(6, {"small", 2});
  Join(7, {"late", 0});
  EXPECT_EQ(job.Sent<protocol::Admitted>(6).worker, WorkerId(4));
  EXPECT_EQ(job.Sent<protocol::Admitted>(7).worker, WorkerId(3));
}

class DeterministicGroupsTest : public GroupsTest {
 protected:
  static CoordinatorOptions Deterministic() {
    CoordinatorOptions options = BigAndSmall();
    options.is_deterministic = true;
    return options;
  }
  DeterministicGroupsTest() : GroupsTest(Deterministic()) {}
};

// Others would give other numbers; as many as are wanted are there.
TEST_F(DeterministicGroupsTest, TheMinimumIsNotEnoughHoweverLongItTakes) {
  job.Register(0);
  Join(1, {"small", 0});
  OpenShards(WorkerId(1));
  Join(2, {"big", 0});
  Join(3, {"big", 1});  // One that is not wanted any more.
  job.PassBeating(Seconds(601), {1, 2, 3});
  EXPECT_THAT(job.outcome(), HasSubstr("3 of at least 3 workers joined"));
  EXPECT_THAT(job.outcome(), HasSubstr("small: 1 of 2"));
}

TEST_F(GroupsTest, AGroupMayComeWhileTheJobRuns) {
  Open();
  Join(4, {"new", 0});  // Before the coordinator has heard of it.
  EXPECT_EQ(job.Sent<protocol::Admitted>(4).worker, WorkerId(3));
  EXPECT_EQ(job.coordinator.status().workers.at(3).seat, (Seat{"new", 0}));
}

TEST_F(GroupsTest, ADrainNamesTheGroup) {
  Open();
  job.Step(DrainAsked{{{"small", 1}, {"big", 7}, {"none", 0}}});
  job.PushFor(1);
  job.PushFor(2);
  job.PushFor(3);
  job.CommittedEverywhere(1);
  EXPECT_TRUE(job.WasSent<protocol::Finish>(1));
  EXPECT_FALSE(job.WasSent<protocol::Finish>(2));
  EXPECT_FALSE(job.WasSent<protocol::Finish>(3));
}

class KeptGroupsTest : public GroupsTest {
 protected:
  static CoordinatorOptions Keeping() {
    CoordinatorOptions options = BigAndSmall();
    options.checkpoint.emplace();
    return options;
  }
  KeptGroupsTest() : GroupsTest(Keeping()) {}
};

TEST_F(KeptGroupsTest, ACheckpointKeepsWhoHasWhichNumber) {
  job.Register(0);
  Join(1, {"small", 1});
  OpenShards(WorkerId(2));
  job.Keep();
  CheckpointState state = job.Last<CompleteCheckpoint>().checkpoint.state;
  ASSERT_EQ(state.seats.size(), 3u);

  CoordinatorOptions options = Keeping();
  options.generation = {2, 0};
  options.checkpoint->found = {job.Last<CompleteCheckpoint>().checkpoint};
  std::swap(options.groups[0], options.groups[1]);
  options.groups.push_back({.name = "new", .wanted = 1, .min = 1});
  Job again(options);
  const auto join = [&](uint64_t connection, const Seat& seat) {
    again.Hear(connection, protocol::Join{.role = protocol::Role::kWorker,
                                          .worker = WorkerId(seat.index),
                                          .layout = testing::Model(),
                                          .train_samples = again.samples,
                                          .group = seat.group});
    return again.Sent<protocol::Admitted>(connection).worker;
  };
  EXPECT_EQ(join(1, {"new", 0}), WorkerId(3));
  EXPECT_EQ(join(2, {"small", 1}), WorkerId(2));
  EXPECT_EQ(join(3, {"big", 0}), WorkerId(0));
}

TEST_F(GroupsTest, ThereAreNotMoreNumbersThanWorkersThatThereMayBe) {
  Open();
  for (uint64_t index = 1; index < 4; ++index) Join(3 + index, {"big", index});
  Join(7, {"big", 4});
  EXPECT_EQ(job.Sent<protocol::Refused>(7).reason, protocol::RefuseReason::kUnknownWorker);
  EXPECT_THAT(job.Sent<protocol::Refused>(7).detail, HasSubstr("big/4 is one worker too many"));
}

}  // namespace
}  // namespace paceline::coordination
