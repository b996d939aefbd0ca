#include "lib/store/shard.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/shard_testing.h"

namespace paceline::store {
namespace {

using testing::Deliver;
using testing::Filled;
using testing::FloatAt;
using ::testing::HasSubstr;
using testing::IntegerAt;
using testing::OpenShard;
using testing::Push;
using testing::SmallLayout;
using testing::WholeOf;

CommitOrder Order(uint64_t version, double scale, double rate) {
  return {.version = Version(version), .gradient_scale = scale, .learning_rate = rate};
}

TEST(ShardTest, ACommitAppliesTheMeanGradientAndAveragesBuffers) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 1, 3));
  ASSERT_TRUE(Deliver(*shard, Push(0, 1), Filled(layout, 2, 10)).ok());
  ASSERT_TRUE(Deliver(*shard, Push(1, 1), Filled(layout, 6, 7)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 1), 30), OkStatus());
  ASSERT_EQ(shard->Accumulate(Push(1, 1), 10), OkStatus());
  EXPECT_EQ(shard->SumBlockNorms(), (std::vector<double>{5 * 120.0 * 120.0}));
  const auto norms = shard->Commit(Order(1, 1.0 / 40, 0.5));
  ASSERT_TRUE(norms.ok()) << norms.status();
  EXPECT_DOUBLE_EQ(norms->at(0), 5 * 9.0);
  const auto published = shard->Newest();
  EXPECT_EQ(published->version, Version(1));
  EXPECT_FLOAT_EQ(FloatAt(published->bytes(), 0), 1 - 0.5 * 3);
  EXPECT_FLOAT_EQ(FloatAt(published->bytes(), layout.parameter_bytes()), 3);
  EXPECT_EQ(IntegerAt(published->bytes(), layout.integer_begin_bytes()), 10);
}

TEST(ShardTest, ClippingScalesTheStepButNotTheReportedNorm) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 1, 0));
  ASSERT_TRUE(Deliver(*shard, Push(0, 1), Filled(layout, 2, 0)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 1), 1), OkStatus());
  CommitOrder order = Order(1, 1, 1);
  order.clip_scale = 0.25;
  EXPECT_EQ(*shard->Commit(order), (std::vector<double>{5 * 4.0}));
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), 0.5f);
}

// Without decay a tensor moves by rate x its own norm, whatever the gradient.
TEST(ShardTest, ALayerWiseOptimizerIsAskedBeforeItSteps) {
  const Layout layout = SmallLayout();
  Shard::Options options = WholeOf(layout);
  options.optimizer = optim::LambOptions{.epsilon = 1, .weight_decay = 0};
  const auto shard = OpenShard(options, Filled(layout, 2, 0));
  EXPECT_TRUE(shard->PrepareNorms(1, 1).empty());  // There is no sum.
  ASSERT_TRUE(Deliver(*shard, Push(0, 1), Filled(layout, 3, 0)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 1), 1), OkStatus());
  for (int again = 0; again < 2; ++again) {  // Nothing has changed by being asked.
    const std::vector<TensorNorms> norms = shard->PrepareNorms(1, 0.5);
    ASSERT_EQ(norms.size(), 1u);
    EXPECT_EQ(norms[0].tensor, 0u);
    EXPECT_EQ(norms[0].norms.weights, 5 * 4);
    EXPECT_NEAR(norms[0].norms.update, 5 * 0.6 * 0.6, 1e-5);  // Of 1.5 / (1.5 + epsilon).
  }
  ASSERT_TRUE(shard
                  ->Commit({.version = Version(1),
                            .learning_rate = 0.1,
                            .trust_ratios = TrustRatios(shard->PrepareNorms(1, 1))})
                  .ok());
  EXPECT_NEAR(FloatAt(shard->Newest()->bytes(), 0), 2 - 0.2, 1e-6);
  ASSERT_TRUE(Deliver(*shard, Push(0, 2), Filled(layout, 3, 0)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 2), 1), OkStatus());
  EXPECT_EQ(
      shard->Commit({.version = Version(2), .trust_ratios = {{0, std::nan("")}}}).status().code(),
      StatusCode::kInvalidArgument);
  // Of norms that were asked of no push, there are none.
  EXPECT_EQ(shard->Commit({.version = Version(2)}).status().code(), StatusCode::kInvalidArgument);
}

TEST(ShardTest, DeltasHaveTheOptimizerBeginAnewAsItWasMade) {
  const Layout layout = SmallLayout();
  Shard::Options options = WholeOf(layout);
  options.optimizer = optim::AdagradOptions{.initial_accumulator = 3};
  const auto shard = OpenShard(options, Filled(layout, 0, 0));
  const auto commit = [&](uint64_t version, PushKind kind) {
    ASSERT_TRUE(Deliver(*shard, Push(0, version), Filled(layout, 1, 0)).ok());
    ASSERT_EQ(shard->Accumulate(Push(0, version), 1), OkStatus());
    ASSERT_TRUE(
        shard->Commit({.version = Version(version), .learning_rate = 1, .kind = kind}).ok());
  };
  commit(1, PushKind::kGradient);
  EXPECT_FLOAT_EQ(FloatAt(shard->Newest()->bytes(), 0), -0.5f);  // 1 / sqrt(3 + 1)
  commit(2, PushKind::kDelta);
  EXPECT_FLOAT_EQ(FloatAt(shard->Newest()->bytes(), 0), 0.5f);
  commit(3, PushKind::kGradient);
  EXPECT_FLOAT_EQ(FloatAt(shard->Newest()->bytes(), 0), 0);
}

TEST(ShardTest, StepsEachParameterAsItsGroupSays) {
  const Layout layout = Layout::Create({{"a", {2}}, {"b", {1}}, {"c", {1}}}).value();
  Shard::Options options = WholeOf(layout);
  options.parameter_groups = {{.match = {"b"}, .rate_scale = 0.5},
                              {.match = {"c"}, .is_frozen = true}};
  const auto shard = OpenShard(options, Filled(layout, 2, 0));
  EXPECT_TRUE(shard->PrepareNorms(1, 1).empty());
  ASSERT_TRUE(Deliver(*shard, Push(0, 1), Filled(layout, 1, 0)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 1), 1), OkStatus());
  ASSERT_TRUE(shard->Commit({.version = Version(1), .learning_rate = 1}).ok());
  const auto bytes = shard->Newest()->bytes();
  EXPECT_EQ(FloatAt(bytes, 0), 1);
  EXPECT_EQ(FloatAt(bytes, 4), 1);
  EXPECT_EQ(FloatAt(bytes, 8), 1.5f);
  EXPECT_EQ(FloatAt(bytes, 12), 2);
}

TEST(ShardTest, DeltasAreAddedPlainlyWithRateMinusOne) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 1, 0));
  for (uint64_t worker : {0, 1}) {
    ASSERT_TRUE(Deliver(*shard, Push(worker, 1), Filled(layout, 0.5f, 0)).ok());
    ASSERT_EQ(shard->Accumulate(Push(worker, 1), 0.5), OkStatus());
  }
  ASSERT_TRUE(shard->Commit(Order(1, 1, -1)).ok());
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), 1.5f);
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), layout.parameter_bytes()), 0.5f);
}

// By hand, with a rate and a momentum of a half: the velocity is 1, then 1.5; a step goes half of
// the delta and of half the velocity.
TEST(ShardTest, AnOuterStepGivesTheMeanOfDeltasMomentum) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout, 2), Filled(layout, 0, 0));
  uint64_t version = 0;
  const auto commit = [&](PushKind kind, std::optional<OuterStep> outer) {
    ++version;
    EXPECT_TRUE(Deliver(*shard, Push(0, version), Filled(layout, 1, 0)).ok());
    EXPECT_EQ(shard->Accumulate(Push(0, version), 1), OkStatus());
    CommitOrder order{.version = Version(version), .kind = kind, .outer = outer};
    EXPECT_EQ(*shard->Commit(order), (std::vector<double>{5}));
    return FloatAt(shard->Newest()->bytes(), 0);
  };
  const OuterStep outer{.learning_rate = 0.5, .momentum = 0.5, .is_nesterov = true};
  EXPECT_FLOAT_EQ(commit(PushKind::kDelta, outer), 0.75f);
  EXPECT_FLOAT_EQ(commit(PushKind::kDelta, outer), 1.625f);
  // Another rate: the momentum, 1.75 by now, stays.
  OuterStep slower = outer;
  slower.learning_rate = 0.25;
  EXPECT_FLOAT_EQ(commit(PushKind::kDelta, slower), 1.625f + 0.25f * (1 + 0.5f * 1.75f));
  // Added plainly once, or a gradient: it is forgotten.
  const float plain = commit(PushKind::kDelta, std::nullopt);
  EXPECT_FLOAT_EQ(commit(PushKind::kDelta, outer), plain + 0.75f);
  const float stepped = commit(PushKind::kGradient, std::nullopt);
  EXPECT_FLOAT_EQ(commit(PushKind::kDelta, outer), stepped + 0.75f);
  const OuterStep wild{.learning_rate = 1, .momentum = 1, .is_nesterov = false};
  CommitOrder order{.version = Version(version + 1), .kind = PushKind::kDelta, .outer = wild};
  ASSERT_TRUE(Deliver(*shard, Push(0, version + 1), Filled(layout, 1, 0)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, version + 1), 1), OkStatus());
  EXPECT_EQ(shard->Commit(order).status().code(), StatusCode::kInvalidArgument);
}

// A model of a trained tensor that two shards cut, and a head.
struct TwoShards {
  TwoShards(const optim::OptimizerOptions& optimizer, int64_t body)
      : layout(Layout::Create({{"body", {body}}, {"head", {20000}}}).value()) {
    for (const Slice& slice : SliceOverShards(layout, 2)) {
      shards.push_back(OpenShard({.layout = layout, .slice = slice, .optimizer = optimizer},
                                 Filled(layout, 2, 0)));
    }
  }
  // The first and the last number of body and head, after a push of these gradients or deltas.
  std::vector<float> Commit(float body, float head, CommitOrder order) {
    order.version = Version(++version);
    order.learning_rate = 0.125;
    const uint64_t cut = layout.tensors()[1].offset_bytes;
    std::vector<std::byte> push = Filled(layout, body, 0), other = Filled(layout, head, 0);
    std::copy(other.begin() + static_cast<std::ptrdiff_t>(cut), other.end(),
              push.begin() + static_cast<std::ptrdiff_t>(cut));
    std::vector<std::byte> all;
    for (const auto& shard : shards) {
      EXPECT_TRUE(Deliver(*shard, Push(0, version), push).ok());
      EXPECT_EQ(shard->Accumulate(Push(0, version), 1), OkStatus());
      EXPECT_EQ(shard->Commit(order).status(), OkStatus());
      const auto newest = shard->Newest();
      all.insert(all.end(), newest->bytes().begin(), newest->bytes().end());
    }
    return {FloatAt(all, 0), FloatAt(all, cut - 4), FloatAt(all, cut),
            FloatAt(all, all.size() - 4)};
  }
  Layout layout;
  std::vector<std::unique_ptr<Shard>> shards;
  uint64_t version = 0;
};

// Large enough to be streamed past the cache, and small; the head lies in the second or in both.
TEST(ShardTest, WhatNoPushHadAGradientOfIsNotSteppedUntilOneHas) {
  for (const int64_t body : {int64_t{5 << 20}, int64_t{20000}, int64_t{1000}}) {
    TwoShards model(optim::AdamWOptions{.weight_decay = 0.5}, body);
    for (int step = 1; step <= 3; ++step) {
      const std::vector<float> values = model.Commit(1, 0, {.without_gradient = {1}});
      EXPECT_LT(values[0], 2 - 0.125f * static_cast<float>(step));
      EXPECT_EQ(values[0], values[1]);
      EXPECT_EQ(values[2], 2);
      EXPECT_EQ(values[3], 2);
    }
    // Its first step: as long as the rate, and the decay.
    const std::vector<float> values = model.Commit(1, 4, {});
    EXPECT_NEAR(values[2], 2 * (1 - 0.125 * 0.5) - 0.125, 1e-5);
    EXPECT_EQ(values[3], values[2]);
    EXPECT_THAT(model.shards.back()->optimizer().skipped(),
                ::testing::Contains(SkippedSteps{1, 3}));
  }
}

TEST(ShardTest, AnOuterStepLeavesOutWhatNoDeltaIsOf) {
  TwoShards model(optim::SgdOptions{}, 20000);
  const CommitOrder order{
      .kind = PushKind::kDelta,
      .outer = OuterStep{.learning_rate = 1, .momentum = 0.5, .is_nesterov = false}};
  CommitOrder marked = order;
  marked.without_gradient = {1};
  EXPECT_THAT(model.Commit(1, 1, order), ::testing::Each(3));
  EXPECT_THAT(model.Commit(0, 0, marked), ::testing::ElementsAre(3.5f, 3.5f, 3, 3));
  EXPECT_THAT(model.Commit(0, 0, order), ::testing::ElementsAre(3.75f, 3.75f, 3.5f, 3.5f));
}

TEST(ShardTest, ASecondRoundStartsFromZero) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 0, 0));
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(
        Deliver(*shard, Push(0, round), Filled(layout, -1, 5 - static_cast<int64_t>(round))).ok());
    ASSERT_EQ(shard->Accumulate(Push(0, round), 1), OkStatus());
    ASSERT_TRUE(shard->Commit(Order(round, 1, 1)).ok());
    EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), static_cast<float>(round));
    EXPECT_EQ(IntegerAt(shard->Newest()->bytes(), layout.integer_begin_bytes()),
              5 - static_cast<int64_t>(round));
    EXPECT_EQ(shard->SumBlockNorms(), std::vector<double>{0});
  }
}

TEST(ShardTest, APushThatCountsForNothingChangesNothing) {
  const Layout layout = SmallLayout();
  const uint64_t buffer = layout.parameter_bytes();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 2, 3));
  ASSERT_TRUE(Deliver(*shard, Push(0, 1), Filled(layout, 5, 1)).ok());
  ASSERT_TRUE(Deliver(*shard, Push(1, 1), Filled(layout, -1, 4)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 1), 0), OkStatus());
  ASSERT_EQ(shard->Accumulate(Push(1, 1), 2), OkStatus());
  ASSERT_TRUE(shard->Commit(Order(1, 0.5, 1)).ok());
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), 3) << "stepped by the other alone";
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), buffer), -1);
  // Of a version that nobody learnt anything for, buffers are those of the one before.
  ASSERT_TRUE(Deliver(*shard, Push(0, 2), Filled(layout, 0, 1)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 2), 0), OkStatus());
  ASSERT_TRUE(shard->Commit(Order(2, 1, 1)).ok());
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), 3);
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), buffer), -1);
  EXPECT_EQ(IntegerAt(shard->Newest()->bytes(), layout.integer_begin_bytes()), 4);
}

TEST(ShardTest, RepeatedOrdersChangeNothing) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout, 2), Filled(layout, 0, 0));
  ASSERT_TRUE(Deliver(*shard, Push(0, 1), Filled(layout, 1, 0)).ok());
  EXPECT_EQ(shard->Accumulate(Push(0, 1), 2), OkStatus());
  EXPECT_EQ(shard->Accumulate(Push(0, 1), 2), OkStatus());
  EXPECT_EQ(shard->SumBlockNorms(), std::vector<double>{5 * 4.0});
  const auto first = shard->Commit(Order(1, 1, 1));
  ASSERT_TRUE(first.ok());
  // The next round has begun when the whole order comes again.
  ASSERT_TRUE(Deliver(*shard, Push(0, 2), Filled(layout, 4, 0)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 2), 1), OkStatus());
  EXPECT_EQ(shard->Accumulate(Push(0, 1), 2), OkStatus());
  EXPECT_EQ(*shard->Commit(Order(1, 1, 1)), *first);
  EXPECT_EQ(shard->Newest()->version, Version(1));
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), -2);
  EXPECT_EQ(shard->SumBlockNorms(), std::vector<double>{5 * 16.0});
}

TEST(ShardTest, BadOrdersAreRefusedAndChangeNothing) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 1, 0));
  EXPECT_EQ(shard->Commit(Order(1, 1, 1)).status().code(), StatusCode::kFailedPrecondition)
      << "empty sum";
  EXPECT_EQ(shard->Accumulate(Push(0, 1), 1).code(), StatusCode::kNotFound);
  const Staging staging = shard->Stage(Push(0, 1)).value();
  EXPECT_EQ(shard->Accumulate(Push(0, 1), 1).code(), StatusCode::kNotFound) << "not sealed";
  ASSERT_TRUE(shard->Seal(Push(0, 1), staging.ticket).ok());
  for (const double weight : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    EXPECT_EQ(shard->Accumulate(Push(0, 1), weight).code(), StatusCode::kInvalidArgument) << weight;
  }
  ASSERT_EQ(shard->Accumulate(Push(0, 1), 1), OkStatus());
  for (const uint64_t version : {0, 2, 7}) {
    const Status status = shard->Commit(Order(version, 1, 1)).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr("must publish v1"));
  }
  EXPECT_EQ(shard->Commit(Order(1, std::nan(""), 1)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(shard->Newest()->version, Version(0));
  EXPECT_TRUE(shard->Commit(Order(1, 1, 1)).ok());
}

TEST(ShardTest, NothingWorksBeforeOpen) {
  const Layout layout = SmallLayout();
  auto shard = Shard::Create(WholeOf(layout)).value();
  EXPECT_EQ(shard->Stage(Push(0, 1)).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard->Commit(Order(1, 1, 1)).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard->Get(Version(0)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(shard->Newest(), nullptr);
}

TEST(ShardTest, OpenRefusesParametersThatAreNotFinite) {
  const Layout layout = Layout::Create({{"a", {3}}, {"b", {4}}, {"c", {1}}}).value();
  auto shard = Shard::Create(WholeOf(layout)).value();
  const float bad = std::nanf("");
  std::memcpy(shard->initial_values().data() + 24, &bad, 4);
  const Status status = shard->Open();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("tensor b is not"));
  std::memset(shard->initial_values().data(), 0, 32);
  EXPECT_EQ(shard->Open(Version(40)), OkStatus());
  EXPECT_EQ(shard->Newest()->version, Version(40));
  EXPECT_TRUE(shard->initial_values().empty());
  EXPECT_EQ(shard->Open().code(), StatusCode::kFailedPrecondition);
}

TEST(ShardTest, BadOptionsAreRefusedByName) {
  const Layout layout = SmallLayout(40000);
  const struct {
    void (*spoil)(Shard::Options&);
    const char* want;
  } cases[] = {
      {[](auto& o) { o.layout = Layout(); }, "no tensors"},
      {[](auto& o) {
         o.slice = {0, 65537};
       },
       "cut at a multiple of 65536 bytes: got 65537"},
      {[](auto& o) { o.slice.begin_bytes = 4; }, "cut at a multiple"},
      {[](auto& o) { o.slice.end_bytes += 65536; }, "within the layout's"},
      {[](auto& o) {
         o.slice = {131072, 65536};
       },
       "within the layout's"},
      {[](auto& o) { o.slots_per_worker = 0; }, "slots per worker"},
      {[](auto& o) { o.workers_max = 0; }, "workers at most"},
      {[](auto& o) { o.optimizer = optim::SgdOptions{.momentum = 2}; }, "momentum"},
  };
  for (const auto& test : cases) {
    Shard::Options options = WholeOf(layout);
    test.spoil(options);
    const Status status = Shard::Create(options).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(Message(status), HasSubstr(test.want));
  }
}

TEST(ShardTest, ReceiptsTellFinitenessOfParametersAndBuffers) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 0, 0));
  std::vector<std::byte> push = Filled(layout, 2, INT64_MIN);
  const auto good = Deliver(*shard, Push(0, 1), push).value();
  EXPECT_TRUE(good->is_finite);
  EXPECT_EQ(good->block_squared_norms, std::vector<double>{5 * 4.0});
  shard->Drop(Push(0, 1));
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(&push[layout.parameter_bytes()], &infinity, 4);
  EXPECT_FALSE(Deliver(*shard, Push(0, 2), push).value()->is_finite) << "buffer";
  shard->Drop(Push(0, 2));
  std::memcpy(&push[0], &infinity, 4);
  EXPECT_FALSE(Deliver(*shard, Push(0, 3), push).value()->is_finite) << "parameter";
}

TEST(ShardTest, AnAccumulatedSlotIsFreeForTheNextPushOfTheSameRound) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout), Filled(layout, 0, 0));
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    ASSERT_TRUE(Deliver(*shard, Push(0, sequence), Filled(layout, 1, 0)).ok()) << sequence;
    ASSERT_EQ(shard->Accumulate(Push(0, sequence), 1), OkStatus());
    shard->Drop(Push(0, sequence));
  }
  EXPECT_EQ(shard->SumBlockNorms(), std::vector<double>{5 * 9.0});
}

TEST(ShardTest, WhatAnOldIncarnationAccumulatedStaysInTheSum) {
  const Layout layout = SmallLayout();
  auto shard = OpenShard(WholeOf(layout, 2), Filled(layout, 0, 0));
  ASSERT_TRUE(Deliver(*shard, Push(0, 1, 1), Filled(layout, 1, 0)).ok());
  ASSERT_TRUE(Deliver(*shard, Push(0, 2, 1), Filled(layout, 1, 0)).ok());
  ASSERT_EQ(shard->Accumulate(Push(0, 1, 1), 1), OkStatus());
  ASSERT_TRUE(Deliver(*shard, Push(0, 1, 2), Filled(layout, 3, 0)).ok());
  EXPECT_EQ(Deliver(*shard, Push(0, 3, 1), Filled(layout, 1, 0)).status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_EQ(shard->Accumulate(Push(0, 2, 1), 1).code(), StatusCode::kNotFound);
  EXPECT_EQ(shard->Accumulate(Push(0, 1, 1), 1), OkStatus());
  ASSERT_EQ(shard->Accumulate(Push(0, 1, 2), 1), OkStatus());
  EXPECT_EQ(shard->SumBlockNorms(), std::vector<double>{5 * 16.0});
}

// However many of the pushes wait for the commit's pass, and whether what it writes goes past the
// cache.
TEST(ShardTest, ASumHasTheBitsOfOnePushAfterTheOther) {
  for (const int64_t elements : {int64_t{50'000}, int64_t{2'200'000}}) {
    const Layout layout = SmallLayout(elements);
    const auto shard = OpenShard(WholeOf(layout, 2), Filled(layout, 1, 0));
    uint64_t version = 0;
    std::vector<float> parameters(elements, 1.0f);
    for (const uint64_t pushes : {1, 2, 3, 5, 2}) {
      ++version;
      std::vector<float> sum(elements, 0.0f);
      float buffer_sum = 0, weight_sum = 0;
      for (uint64_t worker = 0; worker < pushes; ++worker) {
        const float weight = static_cast<float>(3 + worker);
        std::vector<std::byte> bytes = Filled(layout, 0.1f * static_cast<float>(worker + version),
                                              static_cast<int64_t>(worker));
        for (int64_t i = 0; i < elements; ++i) {
          const float value =
              0.001f * static_cast<float>((i * 7 + static_cast<int64_t>(worker)) % 1013);
          std::memcpy(&bytes[i * sizeof(float)], &value, sizeof(float));
          sum[i] += weight * value;
        }
        buffer_sum += weight * (0.1f * static_cast<float>(worker + version));
        weight_sum += weight;
        ASSERT_TRUE(Deliver(*shard, Push(worker, version), bytes).ok());
        ASSERT_TRUE(shard->Accumulate(Push(worker, version), weight).ok());
      }
      const auto norms = shard->Commit(
          {.version = Version(version), .gradient_scale = 0.25, .learning_rate = 0.125});
      ASSERT_TRUE(norms.ok()) << norms.status();
      const auto published = shard->Newest();
      for (int64_t i = 0; i < elements; ++i) {
        const float gradient = 0.25f * sum[i] + 0.0f * parameters[i];
        parameters[i] = parameters[i] - 0.125f * gradient;
        ASSERT_EQ(FloatAt(published->bytes(), i * sizeof(float)), parameters[i])
            << pushes << " pushes, element " << i;
      }
      EXPECT_EQ(FloatAt(published->bytes(), layout.parameter_bytes()), buffer_sum / weight_sum);
      EXPECT_EQ(IntegerAt(published->bytes(), layout.integer_begin_bytes()),
                static_cast<int64_t>(pushes) - 1);
      double squares = 0, want = 0;
      for (const double norm : *norms) squares += norm;
      for (const float value : sum) want += 0.0625 * value * value;
      EXPECT_NEAR(squares / want, 1, 1e-6);
    }
  }
}

// Its worker goes on, and may push once more before the commit: what waits keeps its own bytes.
TEST(ShardTest, APushThatWaitsToBeSummedIsNotOverwritten) {
  const Layout layout = SmallLayout();
  const auto shard = OpenShard(WholeOf(layout, 1), Filled(layout, 0, 0));
  ASSERT_TRUE(Deliver(*shard, Push(0, 1), Filled(layout, 1, 0)).ok());
  ASSERT_TRUE(shard->Accumulate(Push(0, 1), 1).ok());
  ASSERT_TRUE(Deliver(*shard, Push(0, 2), Filled(layout, 10, 0)).ok());
  // Another life takes the slot once more.
  ASSERT_TRUE(Deliver(*shard, Push(0, 1, 2), Filled(layout, 100, 0)).ok());
  EXPECT_EQ(Deliver(*shard, Push(0, 1, 1), Filled(layout, 5, 0)).status().code(),
            StatusCode::kPermissionDenied);
  ASSERT_TRUE(shard->Commit({.version = Version(1), .learning_rate = 1}).ok());
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), -1);
  ASSERT_TRUE(shard->Accumulate(Push(0, 1, 2), 1).ok());
  shard->Forget(WorkerId(0), Incarnation(2));
  ASSERT_TRUE(shard->Commit({.version = Version(2), .learning_rate = 1}).ok());
  EXPECT_EQ(FloatAt(shard->Newest()->bytes(), 0), -101);
}

}  // namespace
}  // namespace paceline::store
