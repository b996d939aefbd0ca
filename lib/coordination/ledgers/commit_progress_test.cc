#include "lib/coordination/ledgers/commit_progress.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

using Orders = CommitProgress::Orders;
using protocol::AccumulateOrder;
using protocol::CommitAll;
using protocol::Committed;
using protocol::Prepare;
using protocol::Prepared;
using protocol::Sum;
using protocol::Summed;

const ShardId kS0{0}, kS1{1};

AccumulateOrder Add(uint64_t worker) {
  return {{WorkerId(worker), Incarnation(1), Sequence(1)}, 1.0};
}

CommitAll To(uint64_t version, double gradient_scale = 1) {
  CommitAll commit;
  commit.commit.version = Version(version);
  commit.commit.gradient_scale = gradient_scale;
  commit.commit.learning_rate = 0.1;
  return commit;
}

template <class M>
bool Is(const protocol::ShardOrder& order) {
  return std::holds_alternative<M>(order);
}

TEST(CommitProgressTest, WithoutClippingEverythingGoesOutAtOnce) {
  CommitProgress commits({2, std::nullopt});
  Orders out;
  commits.Give(Add(0), out);
  commits.Commit(To(1), out);
  commits.Give(Add(1), out);
  commits.Commit(To(2), out);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_TRUE(Is<CommitAll>(out[3]));
  EXPECT_EQ(commits.decided(), Version(2));
  EXPECT_EQ(commits.published(), Version(0));
}

TEST(CommitProgressTest, PublishedWhenAllShardsHaveIt) {
  CommitProgress commits({2, std::nullopt});
  Orders out;
  commits.Commit(To(1), out);
  commits.Commit(To(2), out);
  EXPECT_TRUE(commits.Committed(kS1, Committed{Version(1), {4}}).empty());
  EXPECT_TRUE(commits.Committed(kS1, Committed{Version(1), {4}}).empty());  // Said twice.
  EXPECT_TRUE(commits.Committed(kS1, Committed{Version(2), {4}}).empty());
  EXPECT_TRUE(commits.Committed(ShardId(2), Committed{Version(1), {4}}).empty());  // No such shard.
  const auto first = commits.Committed(kS0, Committed{Version(1), {1, 2}});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].squared_norm, 7);
  EXPECT_EQ(first[0].learning_rate, 0.1);
  EXPECT_FALSE(commits.is_idle());
  EXPECT_EQ(commits.Committed(kS0, Committed{Version(2), {1}}).size(), 1u);
  EXPECT_TRUE(commits.is_idle());
  EXPECT_TRUE(commits.Committed(kS0, Committed{Version(9), {1}}).empty());
}

TEST(CommitProgressTest, OrdersWaitInLineBehindASum) {
  CommitProgress commits({2, 1.0});
  Orders out;
  commits.Give(Add(0), out);
  commits.Commit(To(1, 0.5), out);
  commits.Give(Add(1), out);
  commits.Commit(To(2), out);
  commits.Give(protocol::Unpin{Version(1)}, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(Is<Sum>(out[1]));
  out.clear();
  EXPECT_TRUE(commits.Summed(kS1, Summed{Version(1), {12}}, out).ok());
  EXPECT_TRUE(commits.Summed(kS1, Summed{Version(2), {99}}, out).ok());  // Not asked for yet.
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(commits.Summed(kS0, Summed{Version(1), {3, 1}}, out).ok());
  // Norm 4 of the sum, 2 of the mean: clipped to half.
  ASSERT_EQ(out.size(), 3u);
  EXPECT_NEAR(std::get<CommitAll>(out[0]).commit.clip_scale, 0.5, 1e-6);
  EXPECT_TRUE(Is<AccumulateOrder>(out[1]));
  EXPECT_EQ(std::get<Sum>(out[2]).version, Version(2));
  out.clear();
  EXPECT_TRUE(commits.Summed(kS0, Summed{Version(2), {0.1}}, out).ok());
  EXPECT_TRUE(commits.Summed(kS1, Summed{Version(2), {}}, out).ok());
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(std::get<CommitAll>(out[0]).commit.clip_scale, 1);
  EXPECT_TRUE(Is<protocol::Unpin>(out[1]));
  // What was published says how it was clipped.
  for (const ShardId shard : {kS0, kS1}) {
    for (const auto& published : commits.Committed(shard, Committed{Version(1), {4}}))
      EXPECT_NEAR(published.clip_scale, 0.5, 1e-6);
  }
  EXPECT_EQ(commits.published(), Version(1));
  commits.Committed(kS0, Committed{Version(2), {0.1}});
  EXPECT_EQ(commits.Committed(kS1, Committed{Version(2), {}}).at(0).clip_scale, 1);
}

TEST(CommitProgressTest, ASumThatIsNotFiniteIsNotCommitted) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    CommitProgress commits({1, 1.0});
    Orders out;
    commits.Commit(To(1), out);
    out.clear();
    EXPECT_FALSE(commits.Summed(kS0, Summed{Version(1), {bad}}, out).ok());
    EXPECT_TRUE(out.empty());
  }
}

TEST(CommitProgressTest, ALayerWiseCommitAsksForNormsAndTakesTheirRatios) {
  CommitProgress commits({2, std::nullopt, true});
  Orders out;
  commits.Commit(To(1, 0.5), out);
  commits.Give(Add(1), out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(std::get<Prepare>(out[0]).version, Version(1));
  EXPECT_EQ(std::get<Prepare>(out[0]).gradient_scale, 0.5);
  EXPECT_EQ(std::get<Prepare>(out[0]).clip_scale, 1);
  EXPECT_EQ(commits.AwaitedOf(kS0), Version(1));
  out.clear();
  for (const ShardId shard : {kS0, kS1})  // Nobody asked.
    EXPECT_TRUE(commits.Summed(shard, Summed{Version(1), {1}}, out).ok());
  EXPECT_TRUE(commits.Prepared(kS1, Prepared{Version(1), {{1, {3, 1}}, {2, {9, 1}}}}, out).ok());
  EXPECT_EQ(commits.AwaitedOf(kS1), std::nullopt);
  EXPECT_TRUE(commits.Prepared(kS1, Prepared{Version(2), {}}, out).ok());
  EXPECT_TRUE(commits.Prepared(ShardId(2), Prepared{Version(1), {}}, out).ok());
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(commits.Prepared(kS0, Prepared{Version(1), {{0, {4, 1}}, {1, {13, 0}}}}, out).ok());
  ASSERT_EQ(out.size(), 2u);
  const auto& ratios = std::get<CommitAll>(out[0]).commit.trust_ratios;
  ASSERT_EQ(ratios.size(), 3u);
  EXPECT_EQ(ratios[0].ratio, 2);
  EXPECT_EQ(ratios[1].ratio, 4);  // Of both shards.
  EXPECT_EQ(ratios[2].ratio, 3);
  EXPECT_TRUE(Is<AccumulateOrder>(out[1]));
  EXPECT_EQ(commits.AwaitedOf(kS1), Version(1));  // Its commit, now.
}

TEST(CommitProgressTest, ClippingComesBeforeTheNormsOfLayers) {
  CommitProgress commits({1, 1.0, true});
  Orders out;
  commits.Commit(To(1), out);
  commits.Commit(To(2), out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(Is<Sum>(out[0]));
  out.clear();
  EXPECT_TRUE(commits.Prepared(kS0, Prepared{Version(1), {}}, out).ok());  // Nobody asked.
  EXPECT_TRUE(commits.Summed(kS0, Summed{Version(1), {4}}, out).ok());
  ASSERT_EQ(out.size(), 1u);
  EXPECT_NEAR(std::get<Prepare>(out[0]).clip_scale, 0.5, 1e-6);
  out.clear();
  EXPECT_TRUE(commits.Prepared(kS0, Prepared{Version(1), {{0, {4, 1}}}}, out).ok());
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(std::get<CommitAll>(out[0]).commit.trust_ratios.at(0).ratio, 2);
  EXPECT_EQ(std::get<Sum>(out[1]).version, Version(2));  // The next in line.
}

TEST(CommitProgressTest, DeltasAreNotPrepared) {
  CommitProgress commits({1, std::nullopt, true});
  Orders out;
  CommitAll deltas = To(1);
  deltas.commit.kind = PushKind::kDelta;
  commits.Commit(deltas, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(Is<CommitAll>(out[0]));
}

TEST(CommitProgressTest, AStepThatIsNotFiniteIsNotCommitted) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    CommitProgress commits({1, std::nullopt, true});
    Orders out;
    commits.Commit(To(1), out);
    out.clear();
    EXPECT_FALSE(commits.Prepared(kS0, Prepared{Version(1), {{0, {1, bad}}}}, out).ok());
    EXPECT_TRUE(out.empty());
  }
}

TEST(CommitProgressTest, ReleasesWaitForTheirVersionInOrder) {
  CommitProgress commits({1, std::nullopt});
  Orders out;
  commits.Commit(To(1), out);
  commits.Commit(To(2), out);
  commits.Hold(sync::Release{.worker = WorkerId(2), .version = Version(2)});
  commits.Hold(sync::Release{.worker = WorkerId(1), .version = Version(1)});
  commits.Hold(sync::Release{.worker = WorkerId(0), .version = Version(1)});
  commits.Hold(sync::Release{.worker = WorkerId(3), .version = Version(1)});
  commits.Forget(WorkerId(3));
  EXPECT_TRUE(commits.TakeReleases().empty());
  commits.Committed(kS0, Committed{Version(1), {}});
  const auto ready = commits.TakeReleases();
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_EQ(ready[0].worker, WorkerId(1));
  EXPECT_EQ(ready[1].worker, WorkerId(0));
  commits.Committed(kS0, Committed{Version(2), {}});
  EXPECT_EQ(commits.TakeReleases().size(), 1u);
}

TEST(CommitProgressTest, OffersWaitForTheirVersionInOrder) {
  CommitProgress commits({1, std::nullopt});
  Orders out;
  commits.Commit(To(1), out);
  commits.Commit(To(2), out);
  const std::string before = commits.Describe();
  for (const uint64_t worker : {3, 1, 0}) {
    commits.Hold(sync::Offer{WorkerId(worker), Version(1)});
    commits.Hold(sync::Offer{WorkerId(worker), Version(2)});
  }
  EXPECT_NE(commits.Describe(), before);
  commits.Forget(WorkerId(3));
  EXPECT_TRUE(commits.TakeOffers().empty());
  for (const uint64_t version : {1, 2}) {
    commits.Committed(kS0, Committed{Version(version), {}});
    const auto ready = commits.TakeOffers();
    ASSERT_EQ(ready.size(), 2u);
    EXPECT_EQ(ready[0].worker, WorkerId(1));
    EXPECT_EQ(ready[1].worker, WorkerId(0));
    EXPECT_EQ(ready[0].version, Version(version));
    EXPECT_TRUE(commits.TakeOffers().empty());
  }
}

TEST(CommitProgressTest, BlocksAddUpTheSameHoweverTheyAreCut) {
  const std::vector<double> blocks = {1e16, 1, -1e16, 1, 1e-3, 7, 1e9};
  const double whole = AddBlocks({{kS0, blocks}});
  for (size_t cut = 0; cut <= blocks.size(); ++cut) {
    EXPECT_EQ(AddBlocks({{kS0, {blocks.begin(), blocks.begin() + cut}},
                         {kS1, {blocks.begin() + cut, blocks.end()}}}),
              whole);
  }
}

}  // namespace
}  // namespace paceline::coordination
