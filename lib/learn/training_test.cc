#include "lib/learn/training.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/epoch_order.h"
#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"
#include "lib/learn/testing/trainings.h"

namespace paceline::learn {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::kAllFour;
using testing::Make;
using testing::Safetensors;
using testing::Samples;
using testing::SaveScript;
using testing::Scaled;
using testing::ScriptKind;
using testing::Softmax;
using testing::TestFolder;

TEST(TrainingTest, GradientIsTheMeanOverTheSamples) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  const auto result = training->Step(kAllFour);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->samples, 4u);
  EXPECT_EQ(result->judged, 0u);
  EXPECT_DOUBLE_EQ(result->loss, 9 * 7.5);  // 9 times the mean of x^2
  EXPECT_FLOAT_EQ(Floats(training->push())[0], 2 * 3 * 7.5f);
}

// Saves a model that treats a batch as a scripted torch.nn.BatchNorm1d does: in training the model
// refuses one sample, in evaluation it divides by the running variance.
void SaveNormalizing(const std::string& path, int64_t batches) {
  SaveScript(
      path,
      {{.name = "weight", .shape = {1}, .value = 1},
       {.name = "running_var", .kind = ScriptKind::kBuffer, .shape = {1}, .value = 4},
       {.name = "num_batches_tracked",
        .kind = ScriptKind::kBuffer,
        .type = "long",
        .shape = {},
        .value = static_cast<double>(batches)}},
      "def forward(self, x):\n"
      "    if self.training:\n"
      "        self.num_batches_tracked.add_(1)\n"
      "        assert x.size(0) > 1, 'Expected more than 1 value per channel when training'\n"
      "        self.running_var.add_(1)\n"
      "        return self.weight * x / x.var()\n"
      "    return self.weight * x / self.running_var\n");
}

TEST(TrainingTest, BatchNormOfOneSampleTakesWhatItHasLearnt) {
  for (const int64_t batches : {0, 3}) {
    const TestFolder folder;
    SaveNormalizing(folder.Path("norm.pt"), batches);
    const auto training = Make(
        {.model_path = folder.Path("norm.pt"),
         .loss = "MeanSquaredError",
         .train = {.path = folder.Write(
                       "data.safetensors",
                       Safetensors({{"inputs", "F32", {4, 1}, Bytes<float>({1, 2, 3, 4})},
                                    {"targets", "F32", {4, 1}, Bytes<float>({0, 0, 0, 0})}}))}});
    const float before = 4;  // Its variance.
    const auto one = training->Step(std::vector<SampleRange>{{0, 0, 1}});
    if (batches == 0) {
      EXPECT_EQ(one.status().code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(Message(one.status()), HasSubstr("two samples or more"));
      continue;
    }
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_TRUE(one->took_statistics);
    const double x = std::sqrt(one->loss) * before;
    EXPECT_NEAR(x, std::round(x), 1e-4) << "it divides by what it had learnt";
    const auto all = training->Step(kAllFour);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_FALSE(all->took_statistics) << "it trains again";
    EXPECT_EQ(Floats(training->push())[1], before + 1);
  }
}

TEST(TrainingTest, TheNextMicroBatchTrainsItsBatchNormAgain) {
  const TestFolder folder;
  SaveNormalizing(folder.Path("norm.pt"), 3);
  const auto training =
      Make({.model_path = folder.Path("norm.pt"),
            .loss = "MeanSquaredError",
            .train = {.path = folder.Write(
                          "data.safetensors",
                          Safetensors({{"inputs", "F32", {4, 1}, Bytes<float>({1, 2, 3, 4})},
                                       {"targets", "F32", {4, 1}, Bytes<float>({0, 0, 0, 0})}}))},
            .micro_batch_size = 2});
  const auto three = training->Step(std::vector<SampleRange>{{0, 0, 3}});  // One, and two.
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_TRUE(three->took_statistics);
  EXPECT_EQ(Floats(training->push())[1], 4 + 1);
}

TEST(TrainingTest, AParameterThatAStepDoesNotUseHasNoGradientOfAnEarlierStep) {
  const TestFolder folder;
  SaveScript(folder.Path("sometimes.pt"),
             {{.name = "weight", .shape = {1}, .value = 3},
              {.name = "sometimes", .shape = {1}, .value = 1}},
             "def forward(self, x):\n"
             "    if bool(x.sum() > 5):\n"
             "        return self.weight * x + self.sometimes\n"
             "    return self.weight * x\n");
  const auto training =
      Make({.model_path = folder.Path("sometimes.pt"),
            .loss = "MeanSquaredError",
            .train = {.path = folder.Write(
                          "data.safetensors",
                          Safetensors({{"inputs", "F32", {4, 1}, Bytes<float>({1, 2, 3, 4})},
                                       {"targets", "F32", {4, 1}, Bytes<float>({0, 0, 0, 0})}}))}});
  ASSERT_NE(training, nullptr);
  ASSERT_EQ(training->layout().tensors()[1].spec.name, "sometimes");
  const uint64_t offset = training->layout().tensors()[1].offset_bytes;
  const auto gradient = [&] { return Floats(training->push().subspan(offset, sizeof(float)))[0]; };
  ASSERT_TRUE(training->Step(kAllFour).ok());
  EXPECT_FLOAT_EQ(gradient(), 2 * (3 * 2.5f + 1));
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(training->Step(std::vector<SampleRange>{{0, i, i + 1}}).ok());
    EXPECT_EQ(gradient(), 0);
  }
}

TEST(TrainingTest, WritingParametersMovesTheModel) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  const float weight = -1;
  std::memcpy(training->parameters().data(), &weight, sizeof(weight));
  const auto result = training->Step(kAllFour);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_DOUBLE_EQ(result->loss, 7.5);
  EXPECT_FLOAT_EQ(Floats(training->push())[0], -2 * 7.5f);
}

TEST(TrainingTest, BuffersMoveInPlaceAndArePushed) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  const auto* home = training->parameters().data();
  const auto& tensors = training->layout().tensors();
  ASSERT_EQ(tensors.size(), 3u);
  ASSERT_EQ(tensors[1].spec.name, "rebound");
  for (int step = 1; step <= 3; ++step) {
    ASSERT_TRUE(training->Step(kAllFour).ok());
    EXPECT_EQ(training->parameters().data(), home);
    for (const std::span<const std::byte> arena :
         {std::span<const std::byte>(training->parameters()), training->push()}) {
      EXPECT_THAT(Floats(arena.subspan(tensors[1].offset_bytes, 8)),
                  ElementsAre(10 + step, 10 + step));
      int64_t in_place = 0;
      std::memcpy(&in_place, arena.data() + tensors[2].offset_bytes, sizeof(in_place));
      EXPECT_EQ(in_place, 20 + 2 * step);
    }
  }
}

TEST(TrainingTest, BuffersThatArePulledAreWhatTheModelGoesOnFrom) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  ASSERT_TRUE(training->Step(kAllFour).ok());
  const auto& place = training->layout().tensors()[1];
  const float pulled[] = {100, 200};
  std::memcpy(training->parameters().data() + place.offset_bytes, pulled, sizeof(pulled));
  ASSERT_TRUE(training->Step(kAllFour).ok());
  EXPECT_THAT(Floats(training->push().subspan(place.offset_bytes, 8)), ElementsAre(101, 201));
}

TEST(TrainingTest, EvaluationLeavesEverythingAsItIs) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  const std::vector<float> before = Floats(training->parameters());
  const auto evaluation = training->Evaluate();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_DOUBLE_EQ(evaluation->loss, 9 * 7.5);
  EXPECT_EQ(evaluation->samples, 4u);
  EXPECT_EQ(Floats(training->parameters()), before);
}

TEST(TrainingTest, MicroBatchesGiveTheSameMean) {
  const TestFolder folder;
  TrainingOptions options = Softmax(folder);
  const auto whole = Make(options);
  const std::vector<SampleRange> ranges{{0, 0, 5}, {1, 2, 4}};
  const auto want = whole->Step(ranges);
  ASSERT_TRUE(want.ok()) << want.status();
  const std::vector<float> want_push = Floats(whole->push());
  for (const uint64_t size : {1, 2, 3, 6, 7, 100}) {
    options.micro_batch_size = size;
    const auto training = Make(options);
    const auto got = training->Step(ranges);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_NEAR(got->loss, want->loss, 1e-6) << size;
    EXPECT_EQ(got->correct, want->correct) << size;
    EXPECT_EQ(got->judged, 7u);
    EXPECT_THAT(Floats(training->push()),
                ::testing::Pointwise(::testing::FloatNear(1e-6f), want_push))
        << size;
  }
}

TEST(TrainingTest, RangesNameTheSamplesOfTheEpochsOrder) {
  const TestFolder folder;
  TrainingOptions options = Softmax(folder);
  const auto training = Make(options);
  double sum = 0;
  for (uint64_t i = 0; i < 7; ++i) {
    const auto one = training->Step(std::vector<SampleRange>{{5, i, i + 1}});
    ASSERT_TRUE(one.ok());
    sum += one->loss;
  }
  const auto all = training->Step(std::vector<SampleRange>{{0, 0, 7}});
  ASSERT_TRUE(all.ok());
  EXPECT_NEAR(sum / 7, all->loss, 1e-5);

  // Position 0 of epoch 5 is the sample that EpochOrder says: found again at its position in
  // epoch 6.
  EpochOrder order(7, options.seed);
  const uint32_t sample = order.Epoch(5)[0];
  const auto other = order.Epoch(6);
  const auto at =
      static_cast<uint64_t>(std::find(other.begin(), other.end(), sample) - other.begin());
  const auto first = training->Step(std::vector<SampleRange>{{5, 0, 1}});
  const auto again = training->Step(std::vector<SampleRange>{{6, at, at + 1}});
  EXPECT_EQ(first->loss, again->loss);
}

TEST(TrainingTest, ReseededHasTheOrdersOfThatSeed) {
  const TestFolder folder;
  TrainingOptions options = Softmax(folder);
  const auto training = Make(options);
  const auto loss_of = [](Training& of, uint64_t position) {
    const auto one = of.Step(std::vector<SampleRange>{{1, position, position + 1}});
    EXPECT_TRUE(one.ok()) << one.status();
    return one->loss;
  };
  std::vector<double> before, after, back, want;
  for (uint64_t i = 0; i < 7; ++i) before.push_back(loss_of(*training, i));
  training->Reseed(options.seed + 1);
  for (uint64_t i = 0; i < 7; ++i) after.push_back(loss_of(*training, i));
  training->Reseed(options.seed);
  for (uint64_t i = 0; i < 7; ++i) back.push_back(loss_of(*training, i));
  EpochOrder order(7, options.seed), other(7, options.seed + 1);
  for (uint64_t i = 0; i < 7; ++i) {
    const auto epoch = order.Epoch(1);
    const auto at = std::ranges::find(epoch, other.Epoch(1)[i]) - epoch.begin();
    want.push_back(before[static_cast<size_t>(at)]);
  }
  EXPECT_EQ(after, want);
  EXPECT_NE(after, before);
  EXPECT_EQ(back, before);
}

TEST(TrainingTest, ReportsWhatIsNotFinite) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(training->parameters().data(), &nan, sizeof(nan));
  const auto result = training->Step(kAllFour);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(std::isnan(result->loss));
  EXPECT_TRUE(std::isnan(Floats(training->push())[0]));
  const auto evaluation = training->Evaluate();
  ASSERT_TRUE(evaluation.ok());
  EXPECT_TRUE(std::isnan(evaluation->loss));
}

TEST(TrainingTest, RefusesRangesThatAreNone) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  EXPECT_EQ(training->Step({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(training->Step(std::vector<SampleRange>{{0, 2, 2}}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(training->Step(std::vector<SampleRange>{{0, 3, 2}}).status().code(),
            StatusCode::kInvalidArgument);
  const auto beyond = training->Step(std::vector<SampleRange>{{0, 2, 5}});
  EXPECT_EQ(beyond.status().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(Message(beyond.status()), HasSubstr("[2, 5)"));
  EXPECT_TRUE(training->Step(kAllFour).ok());
}

TEST(TrainingTest, LackOfMemoryIsResourceExhausted) {
  const TestFolder folder;
  SaveScript(folder.Path("greedy.pt"), {{.name = "weight", .shape = {1}, .value = 1}},
             "def forward(self, x):\n"
             "    if self.training:\n"
             "        return self.weight * torch.zeros([1000000, 1000000, 1000])\n"
             "    return self.weight * x\n");
  const auto training =
      Make({.model_path = folder.Path("greedy.pt"),
            .loss = "MeanSquaredError",
            .train = {.path = folder.Write(
                          "data.safetensors",
                          Safetensors({{"inputs", "F32", {1, 1}, Bytes<float>({1})},
                                       {"targets", "F32", {1, 1}, Bytes<float>({1})}}))}});
  ASSERT_NE(training, nullptr);
  const auto result = training->Step(std::vector<SampleRange>{{0, 0, 1}});
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted) << result.status();
}

TEST(TrainingTest, EvaluationNeedsAHeldOutSet) {
  const TestFolder folder;
  EXPECT_EQ(Make(Softmax(folder))->Evaluate().status().code(), StatusCode::kFailedPrecondition);
}

TEST(TrainingTest, EvaluationIsTheSameForEveryBatchSize) {
  const TestFolder folder;
  TrainingOptions options = Softmax(folder);
  options.eval = options.train;
  const auto want = Make(options)->Evaluate();
  ASSERT_TRUE(want.ok());
  options.eval_batch_size = 2;
  const auto got = Make(options)->Evaluate();
  EXPECT_NEAR(got->loss, want->loss, 1e-6);
  EXPECT_EQ(got->accuracy, want->accuracy);
  EXPECT_GT(want->accuracy, 0);
}

TEST(TrainingTest, CudaIsRefusedOrWorks) {
  const TestFolder folder;
  TrainingOptions options = Softmax(folder);
  const auto on_cpu = Make(options);
  options.device = "cuda";
  const auto training = Training::Create(options);
  if (!training.ok()) {
    EXPECT_EQ(training.status().code(), StatusCode::kFailedPrecondition) << training.status();
    EXPECT_THAT(Message(training.status()), HasSubstr("device cuda"));
    return;
  }
  const std::vector<SampleRange> all{{0, 0, 7}};
  ASSERT_TRUE(on_cpu->Step(all).ok());
  ASSERT_TRUE((*training)->Step(all).ok());
  EXPECT_THAT(Floats((*training)->push()),
              ::testing::Pointwise(::testing::FloatNear(1e-4f), Floats(on_cpu->push())));
}

struct Mismatch {
  std::string name;
  std::string data;
  std::string loss;
  std::vector<std::string> says;
};

TEST(TrainingTest, SaysWhatDoesNotFitTogether) {
  // Accepts [N, 3] and gives [N, 2].
  constexpr char kSource[] = "def forward(self, x):\n    return torch.matmul(x, self.weight)\n";
  const std::string three = Bytes<float>(std::vector<float>(3));
  const std::string label = Bytes<int64_t>({1});
  const Mismatch cases[] = {
      {"inputs of another shape",
       Samples({2, 5}, std::vector<float>(10), {0, 1}),
       "CrossEntropy",
       {"does not accept inputs of shape [2, 5] of float32", "data.safetensors: tensor inputs"}},
      {"inputs of another type",
       Safetensors(
           {{"inputs", "I64", {1, 3}, Bytes<int64_t>({1, 2, 3})}, {"targets", "I64", {1}, label}}),
       "CrossEntropy",
       {"does not accept inputs of shape [1, 3] of int64"}},
      {"class beyond the outputs",
       Samples({3, 3}, std::vector<float>(9), {0, 1, 7}),
       "CrossEntropy",
       {"data.safetensors: tensor targets has class 7", "classes 0 to 1"}},
      {"negative class",
       Samples({3, 3}, std::vector<float>(9), {0, -1, 1}),
       "CrossEntropy",
       {"has class -1"}},
      {"targets of two dimensions",
       Safetensors({{"inputs", "F32", {1, 3}, three}, {"targets", "I64", {1, 1}, label}}),
       "CrossEntropy",
       {"outputs of shape [1, 2]", "targets of shape [1, 1]"}},
      {"classes second, as PyTorch's own loss wants them",
       Safetensors({{"inputs", "F32", {2, 4, 3}, Bytes(std::vector<float>(24))},
                    {"targets", "I64", {2, 2}, Bytes<int64_t>({0, 3, 1, 2})}}),
       "CrossEntropy",
       {"outputs of shape [2, 4, 2]", "targets of shape [2, 2]", "the classes, at the end"}},
      {"classes for a float loss",
       Samples({1, 3}, std::vector<float>(3), {1}),
       "MeanSquaredError",
       {"loss MeanSquaredError wants targets of float32", "int64"}},
      {"floats for a class loss",
       Safetensors({{"inputs", "F32", {1, 3}, three}, {"targets", "F32", {1}, Bytes<float>({1})}}),
       "CrossEntropy",
       {"loss CrossEntropy wants targets of int64", "float32"}},
      {"targets of another width",
       Safetensors({{"inputs", "F32", {1, 3}, three}, {"targets", "F32", {1, 3}, three}}),
       "MeanSquaredError",
       {"outputs of shape [1, 2]", "targets of shape [1, 3]"}},
      {"no loss at all",
       Samples({1, 3}, std::vector<float>(3), {1}),
       "",
       {"no method loss", "CrossEntropy"}},
      {"unknown loss",
       Samples({1, 3}, std::vector<float>(3), {1}),
       "Hinge",
       {"\"Hinge\"", "MeanSquaredError"}},
  };
  const TestFolder folder;
  SaveScript(folder.Path("linear.pt"), {{.name = "weight", .shape = {3, 2}, .value = 1}}, kSource);
  for (const Mismatch& mismatch : cases) {
    const auto training =
        Training::Create({.model_path = folder.Path("linear.pt"),
                          .loss = mismatch.loss,
                          .train = {.path = folder.Write("data.safetensors", mismatch.data)}});
    ASSERT_FALSE(training.ok()) << mismatch.name;
    EXPECT_EQ(training.status().code(), StatusCode::kInvalidArgument) << mismatch.name;
    for (const std::string& part : mismatch.says) {
      EXPECT_THAT(Message(training.status()), HasSubstr(part)) << mismatch.name;
    }
  }
}

TEST(TrainingTest, BuiltInModelSaysWhichInputsItWants) {
  const TestFolder folder;
  const std::string data =
      folder.Write("data.safetensors", Samples({2, 5}, std::vector<float>(10), {0, 1}));
  const auto training =
      Training::Create({.built_in = BuiltIn{.kind = BuiltInKind::kMlp, .input_shape = {2, 3}},
                        .loss = "CrossEntropy",
                        .train = {.path = data}});
  EXPECT_EQ(training.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(
      Message(training.status()),
      HasSubstr("data.safetensors: tensor inputs: a sample has shape [5], the model's input "
                "shape is [2, 3]"));
}

TEST(TrainingTest, SaysWhatIsWrongWithOptions) {
  const TestFolder folder;
  const TrainingOptions good = Softmax(folder);
  const struct {
    std::string says;
    std::function<void(TrainingOptions&)> spoil;
  } cases[] = {
      {"threads is 0", [](TrainingOptions& o) { o.threads = 0; }},
      {"eval_batch_size is 0", [](TrainingOptions& o) { o.eval_batch_size = 0; }},
      {"got none", [](TrainingOptions& o) { o.built_in.reset(); }},
      {"got both", [](TrainingOptions& o) { o.model_path = "x.pt"; }},
      {"\"tpu\"", [](TrainingOptions& o) { o.device = "tpu"; }},
  };
  for (const auto& each : cases) {
    TrainingOptions options = good;
    each.spoil(options);
    const auto training = Training::Create(options);
    EXPECT_EQ(training.status().code(), StatusCode::kInvalidArgument) << each.says;
    EXPECT_THAT(Message(training.status()), HasSubstr(each.says));
  }
}

TEST(TrainingTest, ModelThatReturnsNoTensorIsRefusedByANamedLoss) {
  const TestFolder folder;
  SaveScript(folder.Path("numbers.pt"), {{.name = "weight", .shape = {1}}},
             "def forward(self, x):\n    return (3, 4)\n");
  const auto training = Training::Create({.model_path = folder.Path("numbers.pt"),
                                          .loss = "CrossEntropy",
                                          .train = {.path = Small(folder)}});
  EXPECT_EQ(training.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(training.status()), HasSubstr("tuple without a tensor"));
}

}  // namespace
}  // namespace paceline::learn
