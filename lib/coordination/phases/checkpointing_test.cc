#include "lib/coordination/phases/checkpointing.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using ::testing::SizeIs;

CoordinatorOptions Kept(double period = 10) {
  CoordinatorOptions options;
  options.shards = 2;
  options.workers_wanted = 2;
  options.workers_max = 4;
  options.global_batch_size = 8;
  options.epochs_max = 3;
  options.schedule.base = 0.1;
  options.checkpoint.emplace();
  options.checkpoint->period = Seconds(period);
  options.checkpoint->keep = 2;
  options.checkpoint->serial = 4;
  return options;
}

// Opens with two workers, the first version's checkpoint complete.
void Open(Job& job) {
  job.Opened({{1, 0}, {2, 1}});
  job.Keep();
}

TEST(CheckpointingTest, FirstVersionIsKeptBeforeTrainingOpens) {
  Job job(Kept());
  job.Opened({{1, 0}, {2, 1}});
  EXPECT_FALSE(job.Has<TrainingOpened>());
  ASSERT_THAT(job.AllOrdered<protocol::SaveSlice>(), SizeIs(1));
  EXPECT_EQ(job.AllOrdered<protocol::SaveSlice>()[0].checkpoint, "000005-g1.0-v0");
  EXPECT_EQ(job.coordinator.status().startup_waits_for, "the first checkpoint");
  job.Keep();
  EXPECT_TRUE(job.Has<TrainingOpened>());
  EXPECT_EQ(job.coordinator.status().checkpoint_version, Version(0));
}

TEST(CheckpointingTest, FullVolumeIsToldOfAndTrainingOpens) {
  Job job(Kept());
  job.Opened({{1, 0}, {2, 1}});
  job.Say(1, protocol::SliceSaved{"000005-g1.0-v0", {}, "disk is full"});
  EXPECT_TRUE(job.Has<TrainingOpened>());
  EXPECT_EQ(job.coordinator.status().checkpoint_problem,
            "checkpoint 000005-g1.0-v0: shard s1: disk is full");
  EXPECT_EQ(job.Last<CheckpointEvent>().problem, job.coordinator.status().checkpoint_problem);
  // The next period tries again, under another name.
  job.PassBeating(Seconds(10), {1, 2});
  job.PushFor(1);
  job.PushFor(2);
  EXPECT_EQ(job.AllOrdered<protocol::SaveSlice>().back().checkpoint, "000006-g1.0-v1");
  job.CommittedEverywhere(1);
  job.Keep();
  EXPECT_EQ(job.coordinator.status().checkpoint_problem, "");
}

TEST(CheckpointingTest, CutCountsWhatIsCommittedAndNothingElse) {
  Job job(Kept());
  Open(job);
  job.PassBeating(Seconds(10), {1, 2});
  job.PushFor(1);
  EXPECT_THAT(job.AllOrdered<protocol::SaveSlice>(), SizeIs(1)) << "no commit yet";
  job.PushFor(2);
  // The order of things: commit, cut, slices.
  std::vector<std::string> order;
  for (const Effect& effect : job.effects) {
    const auto* send = std::get_if<SendShard>(&effect);
    if (send != nullptr && std::holds_alternative<protocol::CommitAll>(send->order))
      order.push_back("commit");
    if (send != nullptr && std::holds_alternative<protocol::SaveSlice>(send->order))
      order.push_back("save");
    if (std::holds_alternative<CutCheckpoint>(effect)) order.push_back("cut");
  }
  EXPECT_THAT(order, ElementsAre("cut", "save", "save", "commit", "commit", "cut", "save", "save"));
  job.CommittedEverywhere(1);
  job.PushFor(1);  // Staged and accumulated for the next version; not in the cut.
  job.Keep();
  const CheckpointState state = job.Last<CompleteCheckpoint>().checkpoint.state;
  EXPECT_EQ(state.version, Version(1));
  EXPECT_EQ(state.committed_samples, 8u);
  ASSERT_THAT(state.leases.open, SizeIs(1));
  EXPECT_THAT(state.leases.open[0].committed, ElementsAre(std::pair<uint64_t, uint64_t>(0, 8)));
  ASSERT_THAT(state.workers, SizeIs(2));
  EXPECT_EQ(state.workers[0].samples_committed + state.workers[1].samples_committed, 8u);
}

TEST(CheckpointingTest, KeepsSoManyAndLetsTheRestGo) {
  Job job(Kept(1));
  Open(job);
  for (uint64_t version = 1; version <= 2; ++version) {
    job.PassBeating(Seconds(1), {1, 2});
    job.PushFor(1);
    job.PushFor(2);
    job.CommittedEverywhere(version);
    job.Keep();
  }
  EXPECT_THAT(job.Last<CompleteCheckpoint>().keep, ElementsAre("000006-g1.0-v1", "000007-g1.0-v2"));
}

// Checkpoints that may cost one part in a hundred of training.
TEST(CheckpointingTest, ThePeriodIsWhatTheCostAllows) {
  CoordinatorOptions options = Kept(5);
  options.checkpoint->cost_max = 0.01;
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  EXPECT_TRUE(job.Has<TrainingOpened>()) << "training waits for none";
  job.PassBeating(Seconds(1), {1, 2});
  job.Keep();
  const auto step = [&](uint64_t version, double seconds) {
    job.PassBeating(Seconds(seconds), {1, 2});
    job.PushFor(1);
    job.PushFor(2);
    job.CommittedEverywhere(version);
  };
  EXPECT_EQ(job.coordinator.status().checkpoint_period, Duration(Seconds(5)));
  step(1, 3);  // No step is known yet: all of the writing may have been its cost.
  EXPECT_EQ(job.coordinator.status().checkpoint_period, Duration(Seconds(100)));
  step(2, 95);
  EXPECT_THAT(job.AllOrdered<protocol::SaveSlice>(), SizeIs(1));
  step(3, 1);
  EXPECT_THAT(job.AllOrdered<protocol::SaveSlice>(), SizeIs(2));
}

TEST(CheckpointingTest, CheapOnesEndWithTrainingUnlessItIsSuspended) {
  for (const bool is_suspended : {true, false}) {
    CoordinatorOptions options = Kept(1000);
    options.checkpoint->cost_max = 0.01;
    Job job(options);
    Open(job);
    job.PushFor(1);
    job.PushFor(2);
    job.CommittedEverywhere(1);
    job.Step(StopAsked{"stop", is_suspended ? StopKind::kSuspend : StopKind::kFinish});
    EXPECT_THAT(job.AllOrdered<protocol::SaveSlice>(), SizeIs(is_suspended ? 2 : 1));
    EXPECT_EQ(job.Has<SaveModel>(), !is_suspended);
  }
}

TEST(CheckpointingTest, ShardThatDoesNotAnswerIsNamed) {
  Job job(Kept());
  job.Opened({{1, 0}, {2, 1}});
  job.Say(0, protocol::SliceSaved{"000005-g1.0-v0", {}, ""});
  job.PassBeating(Seconds(599), {1, 2});
  EXPECT_FALSE(job.Has<TrainingOpened>());
  job.PassBeating(Seconds(2), {1, 2});
  EXPECT_TRUE(job.Has<TrainingOpened>());
  EXPECT_THAT(job.coordinator.status().checkpoint_problem,
              HasSubstr("nothing written for 600 s: shards s1"));
}

TEST(CheckpointingTest, LastVersionIsKeptBeforeTheModelIsSaved) {
  CoordinatorOptions options = Kept(1000);
  options.epochs_max = 1;
  Job job(options);
  Open(job);
  for (uint64_t version = 1; version <= 2; ++version) {
    job.PushFor(1);
    job.PushFor(2);
    job.CommittedEverywhere(version);
  }
  EXPECT_FALSE(job.Has<SaveModel>());
  EXPECT_EQ(job.AllOrdered<protocol::SaveSlice>().back().version, Version(2));
  job.Keep();
  EXPECT_EQ(job.Last<SaveModel>().version, Version(2));
}

TEST(CheckpointingTest, SuspensionKeepsTheNewestVersionAndSaysNoFarewell) {
  Job job(Kept(1000));
  Open(job);
  job.PushFor(1);  // Accumulated: it is committed.
  job.Step(StopAsked{"suspended", StopKind::kSuspend});
  job.CommittedEverywhere(1);
  EXPECT_FALSE(job.Has<Finished>());
  EXPECT_EQ(job.AllOrdered<protocol::SaveSlice>().back().version, Version(1));
  job.Keep();
  EXPECT_TRUE(job.Last<Finished>().is_suspended);
  EXPECT_FALSE(job.Last<Finished>().is_success);
  EXPECT_FALSE(job.WasSent<protocol::Finish>(1));
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_FALSE(job.Ordered<protocol::StopShard>());
  EXPECT_EQ(job.Last<CompleteCheckpoint>().checkpoint.state.committed_samples, 4u);
}

TEST(CheckpointingTest, SuspensionWithoutAPlaceForCheckpointsEndsAtOnce) {
  CoordinatorOptions options = Kept();
  options.checkpoint.reset();
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  job.Step(StopAsked{"suspended", StopKind::kSuspend});
  EXPECT_TRUE(job.Last<Finished>().is_suspended);
}

}  // namespace
}  // namespace paceline::coordination
