#include "simulator/driver/virtual_shard.h"

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

store::PushId PushOf(uint64_t worker, uint64_t sequence, uint64_t incarnation = 1) {
  return {WorkerId(worker), Incarnation(incarnation), Sequence(sequence)};
}

protocol::CommitAll CommitOf(uint64_t version,
                             const std::vector<std::pair<uint64_t, double>>& pushes) {
  protocol::CommitAll order;
  double weights = 0;
  for (const auto& [worker, weight] : pushes) {
    order.pushes.push_back({PushOf(worker, version), weight});
    weights += weight;
  }
  order.commit.version = Version(version);
  order.commit.gradient_scale = 1 / weights;
  order.commit.learning_rate = 0.5;
  return order;
}

TEST(VirtualShard, StepsByTheWeightedMeanAndTellsItsNorm) {
  VirtualShard shard({1, 1}, 0);
  shard.Stage(PushOf(0, 1), {4, 0}, 1);
  shard.Stage(PushOf(1, 1), {0, 8}, 1);
  const protocol::Committed committed = shard.Commit(CommitOf(1, {{0, 3}, {1, 1}}));
  shard.Publish();
  EXPECT_EQ(committed.version, Version(1));
  EXPECT_EQ(committed.block_squared_norms, (std::vector<double>{3 * 3 + 2 * 2}));
  EXPECT_EQ(*shard.newest().values, (Values{1 - 0.5 * 3, 1 - 0.5 * 2}));
}

TEST(VirtualShard, ClipsWhatItAppliesAndNotWhatItTells) {
  VirtualShard shard({0}, 0);
  shard.Stage(PushOf(0, 1), {4}, 1);
  protocol::CommitAll order = CommitOf(1, {{0, 1}});
  order.commit.clip_scale = 0.25;
  EXPECT_EQ(shard.Commit(order).block_squared_norms, std::vector<double>{16});
  shard.Publish();
  EXPECT_EQ(*shard.newest().values, Values{-0.5});
}

TEST(VirtualShard, AddsDeltasAndForgetsWhatItsOptimizerLearnt) {
  VirtualShard shard({0}, 0.5);
  const auto commit = [&shard](uint64_t version, PushKind kind, std::optional<OuterStep> outer) {
    shard.Stage(PushOf(0, version), {2}, 1);
    protocol::CommitAll order = CommitOf(version, {{0, 1}});
    order.commit.kind = kind;
    order.commit.outer = outer;
    shard.Commit(order);
    shard.Publish();
    return shard.newest().values->front();
  };
  EXPECT_EQ(commit(1, PushKind::kGradient, {}), -1);
  EXPECT_EQ(commit(2, PushKind::kDelta, {}), 1);
  EXPECT_EQ(commit(3, PushKind::kGradient, {}), 0);  // No momentum is left of the first.
  // DiLoCo: v = m v + d; the model moves by a v, or by a (d + m v).
  const OuterStep plain{.learning_rate = 0.5, .momentum = 0.5, .is_nesterov = false};
  EXPECT_EQ(commit(4, PushKind::kDelta, plain), 1);
  EXPECT_EQ(commit(5, PushKind::kDelta, plain), 1 + 0.5 * 3);
  OuterStep ahead = plain;
  ahead.is_nesterov = true;  // Another one begins anew.
  EXPECT_EQ(commit(6, PushKind::kDelta, ahead), 2.5 + 0.5 * 3);
  EXPECT_EQ(commit(7, PushKind::kDelta, ahead), 4 + 0.5 * (2 + 0.5 * 3));
}

// What is accumulated counts, whatever becomes of its worker; another life numbers its pushes anew.
TEST(VirtualShard, AFencedLifeLosesWhatIsNotAccumulated) {
  VirtualShard shard({0}, 0);
  shard.Stage(PushOf(0, 1), {2}, 3);
  shard.Accumulate(PushOf(0, 1));
  shard.Stage(PushOf(0, 2), {4}, 5);
  shard.Stage(PushOf(1, 1), {6}, 7);
  shard.Stage(PushOf(0, 1, 2), {8}, 9);
  const VirtualShard::Fenced fenced = shard.Fence(WorkerId(0), Incarnation(1));
  EXPECT_EQ(fenced.pushes, 1u);
  EXPECT_EQ(fenced.seconds, 5);
  EXPECT_EQ(shard.Drop(PushOf(0, 2)), 0);
  EXPECT_EQ(shard.Drop(PushOf(1, 1)), 7);
  protocol::CommitAll order = CommitOf(1, {{0, 1}});
  shard.Commit(order);
  shard.Publish();
  EXPECT_EQ(*shard.newest().values, Values{-1});
  EXPECT_EQ(shard.Drop(PushOf(0, 1, 2)), 9);
}

TEST(VirtualShard, NobodyHasAVersionBeforeItIsPublished) {
  VirtualShard shard({0}, 0);
  for (const uint64_t version : {1, 2}) {
    shard.Stage(PushOf(0, version), {2}, 1);
    const protocol::CommitAll order = CommitOf(version, {{0, 1}});
    (void)shard.Commit(order);
  }
  EXPECT_EQ(shard.newest().version, Version(0));
  shard.Publish();
  EXPECT_EQ(shard.newest().version, Version(1));
  EXPECT_EQ(*shard.newest().values, Values{-1});
  shard.Publish();
  EXPECT_EQ(*shard.newest().values, Values{-2});
}

TEST(VirtualShard, HasTheNewestTwoVersions) {
  VirtualShard shard({0}, 0);
  for (const uint64_t version : {1, 2}) {
    shard.Stage(PushOf(0, version), {2}, 1);
    shard.Commit(CommitOf(version, {{0, 1}}));
    shard.Publish();
  }
  EXPECT_EQ(*shard.Get(Version(1)).values, Values{-1});
  EXPECT_EQ(*shard.Get(Version(2)).values, Values{-2});
  EXPECT_EQ(shard.Get(Version(0)).version, Version(2));  // Superseded.
}

}  // namespace
}  // namespace paceline::simulator
