#include "lib/coordination/ledgers/shard_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using ::testing::SizeIs;

constexpr ShardId kOne(1);
Time At(double seconds) { return Time(Seconds(seconds)); }

TEST(ShardWatchTest, SilentShardIsOverdueAfterSixSeconds) {
  ShardWatch watch({});
  watch.Began(kOne, At(0));
  watch.Heard(kOne, At(3));
  EXPECT_EQ(watch.Deadline(), At(9));
  EXPECT_THAT(watch.OverdueBy(At(8.9)), IsEmpty());
  const auto overdue = watch.OverdueBy(At(9));
  ASSERT_THAT(overdue, SizeIs(1));
  EXPECT_EQ(overdue[0].shard, kOne);
  EXPECT_EQ(overdue[0].why, ShardLoss::kSilent);
  EXPECT_EQ(watch.LossOf(kOne), nullptr);
  watch.Ended(kOne, "gone", At(9));
  EXPECT_EQ(watch.LossOf(kOne)->since, At(9));
  watch.Heard(kOne, At(10));  // Of a session that is over.
  EXPECT_EQ(watch.Deadline(), std::nullopt);
}

TEST(ShardWatchTest, ShardOfTheCoordinatorsOwnProcessIsNeverSilent) {
  ShardWatch watch({});
  watch.Began(ShardId(0), At(0));
  EXPECT_EQ(watch.Deadline(), std::nullopt);
  watch.Owes(ShardId(0), ShardDuty::kOrder, At(1));
  EXPECT_EQ(watch.Deadline(), At(31));
}

TEST(ShardWatchTest, OrderIsOverdueThirtySecondsAfterTheLastBlock) {
  ShardWatch watch({});
  watch.Began(kOne, At(0));
  watch.Owes(kOne, ShardDuty::kOrder, At(100));
  for (int second = 100; second <= 220; ++second) {
    // A block each 20 s: slow, not stuck.
    watch.Heard(kOne, At(second));
    watch.Worked(kOne, static_cast<uint64_t>(second / 20), At(second));
    EXPECT_THAT(watch.OverdueBy(At(second)), IsEmpty()) << second;
  }
  EXPECT_EQ(watch.StandsStillSince(kOne), At(220));
  for (int second = 221; second < 250; ++second) watch.Heard(kOne, At(second));
  const auto overdue = watch.OverdueBy(At(250));
  ASSERT_THAT(overdue, SizeIs(1));
  EXPECT_EQ(overdue[0].why, ShardLoss::kStalled);
  watch.Owes(kOne, ShardDuty::kNone, At(250));
  watch.Heard(kOne, At(250));
  EXPECT_THAT(watch.OverdueBy(At(251)), IsEmpty());
  EXPECT_EQ(watch.StandsStillSince(kOne), std::nullopt);
}

TEST(ShardWatchTest, AnswersAreProgressAndTheClockBeginsWithTheDuty) {
  ShardWatch watch({});
  watch.Began(kOne, At(0));
  watch.Owes(kOne, ShardDuty::kConfigure, At(1));
  EXPECT_EQ(watch.StandsStillSince(kOne), At(1));
  watch.Heard(kOne, At(119));
  EXPECT_THAT(watch.OverdueBy(At(120)), IsEmpty()) << "memory takes its time";
  watch.Owes(kOne, ShardDuty::kOrder, At(120));
  watch.Owes(kOne, ShardDuty::kOrder, At(130));
  EXPECT_EQ(watch.StandsStillSince(kOne), At(120));
  watch.Answered(kOne, At(140));
  EXPECT_EQ(watch.StandsStillSince(kOne), At(140));
}

// --- The whole coordinator.

CoordinatorOptions TwoShards() {
  CoordinatorOptions options;
  options.shards = 2;
  options.workers_wanted = 2;
  options.workers_max = 4;
  options.global_batch_size = 8;
  options.epochs_max = 2;
  options.schedule.base = 0.5;
  return options;
}

// The first commit is asked for; shard 0 has made it.
void IntoACommit(Job& job) {
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.PushFor(2);
  job.Committed(0, 1);
}

TEST(LostShardTest, SilentOneIsGivenUpAndMayComeBack) {
  Job job(TwoShards());
  IntoACommit(job);
  job.silent_shards = {1};
  job.PassBeating(Seconds(5), {1, 2});
  EXPECT_FALSE(job.Has<RolledBack>());
  job.PassBeating(Seconds(1), {1, 2});
  EXPECT_EQ(job.Last<CloseShard>().shard, kOne);
  EXPECT_EQ(job.Last<CloseShard>().why, ShardLoss::kSilent);
  EXPECT_EQ(job.Last<RolledBack>().generation, (Generation{1, 1}));
  EXPECT_THAT(job.Last<RolledBack>().reason, HasSubstr("shard s1 lost: no heartbeat for 6 s"));
  const Status status = job.coordinator.status();
  ASSERT_THAT(status.lost_shards, SizeIs(1));
  EXPECT_EQ(status.lost_shards[0].shard, kOne);
  EXPECT_EQ(status.lost_shards[0].reason, "no heartbeat for 6 s");
  EXPECT_EQ(StandstillInWords(status, job.now), "shard s1 is lost: no heartbeat for 6 s");

  // What it says late is of a session that is over; then it registers anew.
  job.Committed(1, 1);
  EXPECT_EQ(job.coordinator.status().version, Version(0));
  job.silent_shards.clear();
  job.Register(1);
  EXPECT_THAT(job.coordinator.status().lost_shards, IsEmpty());
  job.OpenedAgain({1, 1}, false, {{3, 0}, {4, 1}});
  job.PushFor(3);
  job.PushFor(4);
  job.CommittedEverywhere(1);
  EXPECT_EQ(job.coordinator.status().version, Version(1));
  EXPECT_TRUE(job.coordinator.Check().ok());
}

TEST(LostShardTest, OneThatDoesNotGetOnWithACommitIsGivenUp) {
  Job job(TwoShards());
  IntoACommit(job);
  for (int i = 0; i < 10; ++i) {
    ++job.work[1];
    job.PassBeating(Seconds(20), {1, 2});
  }
  EXPECT_FALSE(job.Has<RolledBack>()) << "however long it takes";
  EXPECT_EQ(StandstillInWords(job.coordinator.status(), job.now),
            "shard s1 has done no block of version 1 for over 10 s");
  job.PassBeating(Seconds(11), {1, 2});
  EXPECT_EQ(job.Last<CloseShard>().why, ShardLoss::kStalled);
  EXPECT_THAT(job.Last<RolledBack>().reason,
              HasSubstr("shard s1 lost: no block of version 1 for 30 s"));
}

TEST(LostShardTest, SumThatIsNotAnsweredCountsToo) {
  CoordinatorOptions options = TwoShards();
  options.gradient_clip_norm = 1;
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  job.PushFor(1);
  job.PushFor(2);
  job.Say(0, protocol::Summed{Version(1), {1.0}});
  job.PassBeating(Seconds(30), {1, 2});
  EXPECT_EQ(job.Last<CloseShard>().shard, kOne);
}

TEST(LostShardTest, NobodyIsLostWhileWorkersTakeTheirTime) {
  Job job(TwoShards());
  job.Opened({{1, 0}, {2, 1}});
  job.PassBeating(Seconds(1000), {1, 2});
  EXPECT_FALSE(job.Has<CloseShard>());
  EXPECT_EQ(StandstillInWords(job.coordinator.status(), job.now), "");
}

TEST(LostShardTest, OneThatDoesNotConfigureIsGivenUpAndNamed) {
  Job job(TwoShards());
  for (uint64_t s : {0, 1}) job.Register(s);
  job.Join(1, 0);
  job.Join(2, 1);
  job.Say(0, protocol::Configured{{1, 0}});
  job.PassBeating(Seconds(119), {1, 2});
  EXPECT_FALSE(job.Has<CloseShard>());
  job.PassBeating(Seconds(1), {1, 2});
  EXPECT_EQ(job.Last<CloseShard>().shard, kOne);
  EXPECT_THAT(job.Last<RolledBack>().reason, HasSubstr("no block of configuring its slice"));
}

TEST(LostShardTest, CheckpointThatIsBeingWrittenHasNoDeadline) {
  CoordinatorOptions options = TwoShards();
  options.checkpoint.emplace();
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});  // The first version is being kept.
  job.Say(0, protocol::SliceSaved{"000001-g1.0-v0", {}, ""});
  for (uint64_t written = 1; written <= 4; ++written) {
    job.saved[1] = written;
    job.PassBeating(Seconds(500), {1, 2});
    EXPECT_EQ(job.coordinator.status().checkpoint_problem, "");
  }
  EXPECT_FALSE(job.Has<TrainingOpened>());
  job.PassBeating(Seconds(102), {1, 2});
  EXPECT_THAT(job.coordinator.status().checkpoint_problem,
              HasSubstr("nothing written for 600 s: shards s1"));
}

}  // namespace
}  // namespace paceline::coordination
