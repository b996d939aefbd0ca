#include "simulator/driver/virtual_shard.h"

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

protocol::CommitAll CommitOf(uint64_t version,
                             const std::vector<std::pair<uint64_t, double>>& pushes) {
  protocol::CommitAll order;
  double weights = 0;
  for (const auto& [worker, weight] : pushes) {
    order.pushes.push_back({{.worker = WorkerId(worker), .sequence = Sequence(version)}, weight});
    weights += weight;
  }
  order.commit.version = Version(version);
  order.commit.gradient_scale = 1 / weights;
  order.commit.learning_rate = 0.5;
  return order;
}

TEST(VirtualShard, StepsByTheWeightedMeanAndTellsItsNorm) {
  VirtualShard shard({1, 1}, 0);
  shard.Stage(WorkerId(0), Sequence(1), {4, 0});
  shard.Stage(WorkerId(1), Sequence(1), {0, 8});
  const protocol::Committed committed = shard.Commit(CommitOf(1, {{0, 3}, {1, 1}}));
  EXPECT_EQ(committed.version, Version(1));
  EXPECT_EQ(committed.block_squared_norms, (std::vector<double>{3 * 3 + 2 * 2}));
  EXPECT_EQ(*shard.newest().values, (Values{1 - 0.5 * 3, 1 - 0.5 * 2}));
}

TEST(VirtualShard, ClipsWhatItAppliesAndNotWhatItTells) {
  VirtualShard shard({0}, 0);
  shard.Stage(WorkerId(0), Sequence(1), {4});
  protocol::CommitAll order = CommitOf(1, {{0, 1}});
  order.commit.clip_scale = 0.25;
  EXPECT_EQ(shard.Commit(order).block_squared_norms, std::vector<double>{16});
  EXPECT_EQ(*shard.newest().values, Values{-0.5});
}

TEST(VirtualShard, HasTheNewestTwoVersions) {
  VirtualShard shard({0}, 0);
  for (const uint64_t version : {1, 2}) {
    shard.Stage(WorkerId(0), Sequence(version), {2});
    shard.Commit(CommitOf(version, {{0, 1}}));
  }
  EXPECT_EQ(*shard.Get(Version(1)).values, Values{-1});
  EXPECT_EQ(*shard.Get(Version(2)).values, Values{-2});
  EXPECT_EQ(shard.Get(Version(0)).version, Version(2));  // Superseded.
}

}  // namespace
}  // namespace paceline::simulator
