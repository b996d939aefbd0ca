#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "lib/rpc/control/codec_shard.h"
#include "lib/rpc/control/codec_values.h"
#include "lib/rpc/control/codec_worker.h"

namespace paceline::rpc {
namespace {

using ::testing::HasSubstr;

store::Layout SmallLayout() {
  return store::Layout::Create(
             {{"conv.weight", {16, 1, 3, 3}},
              {"scale", {}},
              {"running_mean", {16}, store::DataType::kFloat32, store::TensorKind::kBuffer},
              {"batches", {1}, store::DataType::kInt64, store::TensorKind::kBuffer}})
      .value();
}

// Every field that the wire knows has a value other than its default, in every message within.
// `shape` of a scalar is the one that is rightly empty.
void ExpectAllFieldsSet(const google::protobuf::Message& message) {
  const auto& reflection = *message.GetReflection();
  const auto& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const auto* const field = descriptor.field(i);
    if (field->name() == "shape" ||
        (field->real_containing_oneof() && !reflection.HasField(message, field))) {
      continue;
    }
    if (field->is_repeated()) {
      ASSERT_GT(reflection.FieldSize(message, field), 0) << field->full_name();
      if (field->message_type() == nullptr) continue;
      for (int k = 0; k < reflection.FieldSize(message, field); ++k) {
        ExpectAllFieldsSet(reflection.GetRepeatedMessage(message, field, k));
      }
      continue;
    }
    EXPECT_TRUE(reflection.HasField(message, field)) << field->full_name();
    if (field->message_type() != nullptr) ExpectAllFieldsSet(reflection.GetMessage(message, field));
  }
}

// Encoded and decoded again, nothing is lost: the second encoding has the same bytes.
template <class Value>
void ExpectRoundTrip(const std::vector<Value>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    SCOPED_TRACE(values[i].index());
    EXPECT_EQ(values[i].index(), i) << "the cases must cover the variants in their order";
    const auto wire = Encode(values[i]);
    ExpectAllFieldsSet(wire);
    const auto again = Decode(wire);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->index(), i);
    EXPECT_EQ(Encode(*again).SerializeAsString(), wire.SerializeAsString());
  }
  EXPECT_EQ(values.size(), std::variant_size_v<typename Value::variant>);
}

TEST(CodecTest, EveryWorkerMessageSurvives) {
  ExpectRoundTrip<protocol::WorkerMessage>({
      protocol::Join{protocol::Role::kEvaluator,
                     WorkerId(3),
                     SmallLayout(),
                     1437,
                     "CUDA",
                     2,
                     {WireType::kBfloat16, WireType::kBfloat16},
                     8,
                     "big",
                     "WeightedRandomSampler",
                     {{"base", "bfloat16 [2]", "1f"}, {"four", "uint8 [3]", "2e"}}},
      protocol::Heartbeat{protocol::Doing::kComputing, 12, Seconds(3)},
      protocol::PushDone{
          .generation = {2, 5},
          .sequence = Sequence(7),
          .based_on = Version(6),
          .steps = 2,
          .samples = 64,
          .correct = 60,
          .leases = {protocol::LeaseId(4), protocol::LeaseId(9)},
          .timing = {Seconds(0.25), Seconds(0.5), Seconds(1e-9), Seconds(2), Seconds(0.125)},
          .gradient = {0.75, 12.5, true},
          .signals = {.cpu_available = 0.5, .memory_available = 1e9},
          .shard_time = Seconds(0.001),
          .spread = 3,
          .traffic = {.pushed_bytes = 4096, .pulled_bytes = 8192},
          .non_finite_tensor = "conv1.weight",
          .loss_scale = 32768,
          .without_gradient = {1, 4},
          .skipped = 3},
      protocol::Abandoned{
          Sequence(8), sync::AbandonReason::kOverflow, 32, {protocol::LeaseId(10)}, 1024},
      protocol::Evaluated{Version(100), 0.1, 0.97, 360, "logits", {{"f1", 0.5}}},
      protocol::Leaving{.is_done = true},
      protocol::Failing{"KeyError: 'x'", "KeyError, train.py, line 7"},
      protocol::Drawn{3, 2000, 0xfedcba9876543210},
  });
}

TEST(CodecTest, AnAccuracyThatIsUnknownStaysSo) {
  const auto again = Decode(
      Encode(protocol::WorkerMessage(protocol::Evaluated{Version(1), 0.1, std::nullopt, 9})));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(std::get<protocol::Evaluated>(*again).accuracy, std::nullopt);
}

TEST(CodecTest, EveryWorkerOrderSurvives) {
  const sync::Assignment assignment{64, 3, 0.5, sync::Pacing::kEagerPull};
  const protocol::Lease lease{protocol::LeaseId(12), {{1, 5, 69}, {2, 3, 4}}};
  ExpectRoundTrip<protocol::WorkerOrder>({
      protocol::Admitted{Incarnation(2), {1, 3}, Seconds(2), 17, WorkerId(0), true, true},
      protocol::Shards{{{ShardId(1), "unix:/tmp/s1.sock", {65536, 131072}}}},
      protocol::Refused{protocol::RefuseReason::kFinished, "job is over"},
      protocol::Fill{},
      protocol::Released{Version(4), sync::Exactness::kAtLeast, Sequence(3), assignment, lease,
                         0.05},
      protocol::Offered{Version(5)},
      protocol::Continued{assignment, lease, 0.05},
      protocol::Interrupted{Sequence(9)},
      protocol::Expelled{"too slow"},
      protocol::Evaluate{Version(7)},
      protocol::Finish{"target reached"},
  });
}

// A parser of protobuf refuses text that is no UTF-8, and with it the whole message.
template <class Value>
void ExpectWordsArrivePrintable(const Value& value) {
  decltype(Encode(value)) wire;
  ASSERT_TRUE(wire.ParseFromString(Encode(value).SerializeAsString()));
  const std::string text = wire.DebugString();
  EXPECT_THAT(text, testing::HasSubstr(R"(\\x1b[2J f\\xfcr)"));
}

TEST(CodecTest, WordsThatAreNoTextArrivePrintable) {
  const std::string odd = "\x1b[2J f\xfcr";
  ExpectWordsArrivePrintable(protocol::WorkerMessage(protocol::Failing{odd}));
  ExpectWordsArrivePrintable(protocol::WorkerMessage(protocol::Failing{"", odd}));
  ExpectWordsArrivePrintable(
      protocol::WorkerMessage(protocol::Join{.layout = SmallLayout(), .device = odd}));
  ExpectWordsArrivePrintable(protocol::WorkerMessage(protocol::Evaluated{.accuracy_from = odd}));
  ExpectWordsArrivePrintable(
      protocol::WorkerOrder(protocol::Refused{protocol::RefuseReason::kFinished, odd}));
  ExpectWordsArrivePrintable(protocol::WorkerOrder(protocol::Expelled{odd}));
  ExpectWordsArrivePrintable(protocol::WorkerOrder(protocol::Finish{odd}));
  ExpectWordsArrivePrintable(protocol::ShardMessage(protocol::ShardFailed{odd}));
  ExpectWordsArrivePrintable(protocol::ShardMessage(protocol::RestoreFailed{odd}));
  ExpectWordsArrivePrintable(protocol::ShardMessage(protocol::SliceSaved{.problem = odd}));
}

TEST(CodecTest, EveryShardMessageSurvives) {
  ExpectRoundTrip<protocol::ShardMessage>({
      protocol::Register{ShardId(2), "127.0.0.1:7001"},
      protocol::Configured{{3, 4}},
      protocol::Filled{WorkerId(1), Incarnation(2)},
      protocol::Opened{},
      protocol::Summed{Version(3), {0.5, 1e300}},
      protocol::Committed{Version(4), {0.25}},
      protocol::ShardFailed{"disk is full", {3, 4}},
      protocol::ShardHeartbeat{.work_done = 77, .saved_bytes = 1 << 20},
      protocol::RestoreFailed{"file is damaged", {3, 5}},
      protocol::SliceSaved{"000001-g1.0-v3", {12, "ab"}, "disk is full"},
      protocol::Prepared{Version(3), {{7, {0.5, 1e300}}, {8, {1, 2}}}},
  });
}

TEST(CodecTest, EveryShardOrderSurvives) {
  const store::PushId push{WorkerId(1), Incarnation(2), Sequence(3)};
  ExpectRoundTrip<protocol::ShardOrder>({
      protocol::Configure{
          {1, 2},
          SmallLayout(),
          {64, 640},
          optim::SgdOptions{0.9, 0.1, 5e-4, true},
          2,
          16,
          protocol::RestoreSlice{"000001-g1.0-v3", Version(3), {7, "c"}, Version(2)},
          {{{"*.bias"}, 0.5, 0.1, true}},
          0.999},
      protocol::Open{WorkerId(1), Incarnation(2)},
      protocol::AccumulateOrder{push, 64},
      protocol::DropOrder{push},
      protocol::Fence{WorkerId(1), Incarnation(2)},
      protocol::Sum{Version(9)},
      protocol::CommitAll{{{push, 64}, {push, 32}},
                          {Version(9),
                           0.01,
                           0.5,
                           0.1,
                           true,
                           PushKind::kDelta,
                           OuterStep{0.7, 0.9, true},
                           {{2, 0.5}},
                           {1, 4}}},
      protocol::Unpin{Version(9)},
      protocol::StopShard{},
      protocol::SaveSlice{"000002-g1.0-v9", Version(9), {"000001-g1.0-v3"}, Version(0)},
      protocol::Admit{WorkerId(5), Incarnation(2), {"big", 3}},
      protocol::Prepare{Version(9), 0.25, 0.5},
  });
}

// What a Configure with it becomes on the wire and back.
template <class Options>
Options Again(const Options& options) {
  const protocol::ShardOrder order = protocol::Configure{{}, SmallLayout(), {}, options, 1, 1};
  const auto again = Decode(Encode(order));
  EXPECT_TRUE(again.ok());
  return std::get<Options>(std::get<protocol::Configure>(*again).optimizer);
}

TEST(CodecTest, EveryOptimizerSurvives) {
  const auto adamw = Again(optim::AdamWOptions{0.8, 0.9, 1e-6, 0.1});
  EXPECT_EQ(adamw.beta1, 0.8);
  EXPECT_EQ(adamw.epsilon, 1e-6);
  EXPECT_EQ(adamw.weight_decay, 0.1);
  const auto adagrad = Again(optim::AdagradOptions{0.25, 0.5, 1e-6, 0.1});
  EXPECT_EQ(adagrad.learning_rate_decay, 0.25);
  EXPECT_EQ(adagrad.initial_accumulator, 0.5);
  EXPECT_EQ(adagrad.epsilon, 1e-6);
  EXPECT_EQ(adagrad.weight_decay, 0.1);
  const auto lion = Again(optim::LionOptions{0.8, 0.9, 0.1});
  EXPECT_EQ(lion.beta1, 0.8);
  EXPECT_EQ(lion.beta2, 0.9);
  EXPECT_EQ(lion.weight_decay, 0.1);
  const auto lamb = Again(optim::LambOptions{0.8, 0.9, 1e-5, 0.1});
  EXPECT_EQ(lamb.beta1, 0.8);
  EXPECT_EQ(lamb.beta2, 0.9);
  EXPECT_EQ(lamb.epsilon, 1e-5);
  EXPECT_EQ(lamb.weight_decay, 0.1);
}

TEST(CodecTest, TheDecayOfAnAverageSurvivesAndSoDoesItsAbsence) {
  for (const std::optional<double> decay : {std::optional(0.999), std::optional<double>()}) {
    const auto again = Decode(Encode(protocol::Configure{
        .layout = SmallLayout(), .optimizer = optim::SgdOptions{}, .average_decay = decay}));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(std::get<protocol::Configure>(*again).average_decay, decay);
  }
}

TEST(CodecTest, ParameterGroupsAndTrustRatiosSurvive) {
  const std::vector<optim::ParameterGroup> groups = {
      {.match = {"*.bias", "norm?"}, .weight_decay = 0.0, .rate_scale = 0.1},
      {.match = {"table"}, .is_frozen = true}};
  const protocol::ShardOrder configure = protocol::Configure{
      .layout = SmallLayout(), .optimizer = optim::SgdOptions{}, .parameter_groups = groups};
  const auto again = Decode(Encode(configure));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(std::get<protocol::Configure>(*again).parameter_groups, groups);
  protocol::CommitAll commit;
  commit.commit.trust_ratios = {{2, 0.5}, {7, 3}};
  const auto committed = Decode(Encode(protocol::ShardOrder(commit)));
  ASSERT_TRUE(committed.ok());
  const auto& ratios = std::get<protocol::CommitAll>(*committed).commit.trust_ratios;
  ASSERT_EQ(ratios.size(), 2u);
  EXPECT_EQ(ratios[0].tensor, 2u);
  EXPECT_EQ(ratios[0].ratio, 0.5);
  EXPECT_EQ(ratios[1].ratio, 3);
}

TEST(CodecTest, WhatHadNoGradientSurvivesAndSoDoesItsAbsence) {
  for (const std::vector<uint32_t>& tensors : {std::vector<uint32_t>{0, 3, 700}, {}}) {
    protocol::PushDone done;
    done.without_gradient = tensors;
    const auto said = Decode(Encode(protocol::WorkerMessage(done)));
    ASSERT_TRUE(said.ok());
    EXPECT_EQ(std::get<protocol::PushDone>(*said).without_gradient, tensors);
    protocol::CommitAll commit;
    commit.commit.without_gradient = tensors;
    const auto ordered = Decode(Encode(protocol::ShardOrder(commit)));
    ASSERT_TRUE(ordered.ok());
    EXPECT_EQ(std::get<protocol::CommitAll>(*ordered).commit.without_gradient, tensors);
  }
}

TEST(CodecTest, EveryEnumValueSurvives) {
  for (const auto pacing : {sync::Pacing::kWait, sync::Pacing::kKeepGoing,
                            sync::Pacing::kOverlapped, sync::Pacing::kEagerPull}) {
    const auto again =
        Decode(Encode(protocol::WorkerOrder(protocol::Continued{{1, 1, 1, pacing}, {}})));
    EXPECT_EQ(std::get<protocol::Continued>(*again).assignment.pacing, pacing);
  }
  for (int reason = 0; reason <= static_cast<int>(protocol::RefuseReason::kFinished); ++reason) {
    const auto refused = protocol::Refused{static_cast<protocol::RefuseReason>(reason), ""};
    EXPECT_EQ(std::get<protocol::Refused>(*Decode(Encode(protocol::WorkerOrder(refused)))).reason,
              refused.reason);
  }
}

TEST(CodecTest, LayoutKeepsItsHash) {
  const store::Layout layout = SmallLayout();
  const auto again = Decode(Encode(layout));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->hash(), layout.hash());
  EXPECT_EQ(again->Difference(layout), "");
}

TEST(CodecTest, AbsentSignalsStayAbsent) {
  const auto again = Decode(Encode(protocol::WorkerMessage(protocol::PushDone{})));
  EXPECT_FALSE(std::get<protocol::PushDone>(*again).signals.cpu_available.has_value());
  EXPECT_FALSE(std::get<protocol::PushDone>(*again).signals.memory_available.has_value());
}

TEST(CodecTest, ReleaseWithoutOwnPushSaysSo) {
  const auto again =
      Decode(Encode(protocol::WorkerOrder(protocol::Released{.version = Version(1)})));
  EXPECT_FALSE(std::get<protocol::Released>(*again).includes.has_value());
}

TEST(CodecTest, RefusesWhatNoProgramSends) {
  v1::WorkerMessage join;
  join.mutable_join();
  v1::WorkerMessage unknown_role = join;
  unknown_role.mutable_join()->set_role(static_cast<v1::Role>(77));
  v1::WorkerMessage bad_kind;
  bad_kind.mutable_join()->set_role(v1::ROLE_WORKER);
  bad_kind.mutable_join()->mutable_layout()->add_tensors()->set_name("w");
  v1::WorkerMessage no_reason;
  no_reason.mutable_abandoned();
  for (const auto& [message, words] : std::vector<std::pair<v1::WorkerMessage, std::string>>{
           {v1::WorkerMessage(), "says nothing"},
           {join, "unknown role: got 0, want 1 to 2"},
           {unknown_role, "unknown role: got 77"},
           {bad_kind, "type of tensor w: got 0"},
           {no_reason, "reason of abandoned"}}) {
    const auto decoded = Decode(message);
    EXPECT_EQ(decoded.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(decoded.status()), HasSubstr(words));
  }
  v1::WorkerOrder backwards;
  backwards.mutable_shards()->add_shards()->mutable_slice()->set_begin_bytes(1);
  EXPECT_THAT(Message(Decode(backwards).status()),
              HasSubstr("slice ends before it begins: [1, 0)"));
  v1::ShardOrder no_optimizer;
  no_optimizer.mutable_configure();
  EXPECT_THAT(Message(Decode(no_optimizer).status()), HasSubstr("no optimizer"));
  EXPECT_FALSE(Decode(v1::WorkerOrder()).ok());
  EXPECT_FALSE(Decode(v1::ShardOrder()).ok());
  EXPECT_FALSE(Decode(v1::ShardMessage()).ok());
}

}  // namespace
}  // namespace paceline::rpc
