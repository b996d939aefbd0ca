// Steps in reduced precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/autocast.h"
#include "lib/learn/loss_scaler.h"
#include "lib/learn/testing/trainings.h"
#include "lib/learn/training.h"
#include "lib/store/safetensors.h"

namespace paceline::learn {
namespace {

using ::testing::AllOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Make;
using testing::SaveScript;
using testing::Softmax;
using testing::TestFolder;

const std::vector<SampleRange> kAllSeven{{0, 0, 7}};

std::unique_ptr<Training> In(Precision precision, const TestFolder& folder,
                             uint64_t micro_batch_size = 0) {
  TrainingOptions options = Softmax(folder);
  options.precision = precision;
  options.micro_batch_size = micro_batch_size;
  return Make(options);
}

// A weight of `weight` whose gradient is the mean of the inputs, and a buffer that counts.
std::unique_ptr<Training> Line(const TestFolder& folder, const std::vector<float>& inputs,
                               Precision precision = Precision::kFloat16) {
  SaveScript(folder.Path("line.pt"),
             {{.name = "weight", .shape = {1, 1}, .value = 0.5},
              {.name = "seen", .kind = testing::ScriptKind::kBuffer, .shape = {1}, .value = 10}},
             R"(
def forward(self, x):
    if self.training:
        self.seen.add_(1)
    return torch.matmul(x, self.weight)
def loss(self, x, targets):
    return self.forward(x).float().mean()
)");
  const auto rows = static_cast<int64_t>(inputs.size());
  const std::string data =
      folder.Write("line.safetensors",
                   testing::Safetensors({{"inputs", "F32", {rows, 1}, testing::Bytes(inputs)},
                                         {"targets", "F32", {rows, 1}, testing::Bytes(inputs)}}));
  return Make(
      {.model_path = folder.Path("line.pt"), .train = {.path = data}, .precision = precision});
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0, of = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    of += b[i] * b[i];
  }
  return std::sqrt(sum / of);
}

// It keeps what it has cast of a parameter, and does not see that change.
TEST(AutocastScopeTest, ForgetsWhatWasCastAtItsEnd) {
  const at::Tensor weight = at::ones({2, 2}).requires_grad_(true);
  const at::Tensor inputs = at::ones({2, 2});
  for (const float value : {1.0f, 2.0f}) {
    {
      const at::NoGradGuard no_grad;
      weight.fill_(value);
    }
    const AutocastScope autocast(Precision::kBFloat16, at::kCPU);
    const at::Tensor product = at::matmul(inputs, weight);
    EXPECT_EQ(product.scalar_type(), at::kBFloat16);
    EXPECT_EQ(product[0][0].item<float>(), 2 * value);
  }
}

TEST(PrecisionTest, ReducedGradientsAreNearFloat32OnesAndNotThem) {
  for (const uint64_t micro_batch_size : {0, 3}) {
    const TestFolder folder;
    const auto whole = In(Precision::kFloat32, folder, micro_batch_size);
    ASSERT_TRUE(whole->Step(kAllSeven).ok());
    EXPECT_EQ(whole->loss_scale(), 0);
    const auto want = Floats(whole->push());
    for (const Precision precision : {Precision::kBFloat16, Precision::kFloat16}) {
      const auto reduced = In(precision, folder, micro_batch_size);
      const auto step = reduced->Step(kAllSeven);
      ASSERT_TRUE(step.ok()) << step.status();
      const double distance = Distance(Floats(reduced->push()), want);
      EXPECT_GT(distance, 1e-6) << Name(precision);
      EXPECT_LT(distance, precision == Precision::kFloat16 ? 0.003 : 0.03) << Name(precision);
      EXPECT_EQ(reduced->loss_scale(), precision == Precision::kFloat16 ? LossScaler::kFirst : 0);
      EXPECT_EQ(reduced->layout().total_bytes(), whole->layout().total_bytes());
    }
  }
}

TEST(PrecisionTest, WhatIsHandedOverIsUnscaled) {
  const TestFolder folder;
  const auto handing = In(Precision::kFloat16, folder), whole = In(Precision::kFloat16, folder);
  std::vector<std::byte> handed(handing->layout().total_bytes());
  ASSERT_TRUE(handing
                  ->Step(kAllSeven, {},
                         [&](uint64_t offset, std::span<const std::byte> part) {
                           std::ranges::copy(part, handed.begin() + static_cast<long>(offset));
                         })
                  .ok());
  ASSERT_TRUE(whole->Step(kAllSeven).ok());
  EXPECT_EQ(handed, std::vector(whole->push().begin(), whole->push().end()));
}

// 4 x 65536, 4 x 32768 and 4 x 16384 are beyond the largest of float16, 65504; what was handed over
// by then says nothing.
TEST(PrecisionTest, AnOverflowGivesTheStepUpAndLowersTheScale) {
  const TestFolder folder;
  const auto training = Line(folder, {4, 4});
  const std::vector<SampleRange> both{{0, 0, 2}};
  const std::vector<std::byte> before(training->parameters().begin(), training->parameters().end());
  const HandPart into_nothing = [](uint64_t, std::span<const std::byte>) {};
  for (const double scale : {32768.0, 16384.0, 8192.0}) {
    const auto step = training->Step(both, {}, scale > 8192 ? into_nothing : HandPart());
    ASSERT_FALSE(step.ok());
    EXPECT_EQ(step.status().code(), StatusCode::kAborted) << step.status();
    EXPECT_EQ(training->loss_scale(), scale);
    EXPECT_EQ(std::vector(training->parameters().begin(), training->parameters().end()), before);
  }
  const auto step = training->Step(both);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(Floats(training->push()), (std::vector<float>{4, 11}));
  EXPECT_EQ(training->loss_scale(), 8192);
}

// Its float16 is infinite in the forward pass, which no scale has touched: the push goes as it is,
// and who judges it does so as ever.
TEST(PrecisionTest, ALossThatIsNotFiniteIsNoOverflow) {
  const TestFolder folder;
  const auto training = Line(folder, {std::numeric_limits<float>::max(), 1});
  const std::vector<SampleRange> both{{0, 0, 2}};
  const auto step = training->Step(both);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_FALSE(std::isfinite(step->loss));
  EXPECT_EQ(training->loss_scale(), LossScaler::kFirst);
}

// A gradient that is no number while the loss is one: of the root of 0.
TEST(PrecisionTest, GradientsThatNoScaleMendsAreLeftAsTheyAre) {
  const TestFolder folder;
  SaveScript(folder.Path("root.pt"), {{.name = "weight", .shape = {1, 1}, .value = 0.5}}, R"(
def forward(self, x):
    return torch.matmul(x, self.weight)
def loss(self, x, targets):
    return torch.sqrt(self.forward(x).float()).mean()
)");
  const std::string data =
      folder.Write("root.safetensors",
                   testing::Safetensors({{"inputs", "F32", {1, 1}, testing::Bytes<float>({0})},
                                         {"targets", "F32", {1, 1}, testing::Bytes<float>({0})}}));
  const auto training = Make({.model_path = folder.Path("root.pt"),
                              .train = {.path = data},
                              .precision = Precision::kFloat16});
  const std::vector<SampleRange> one{{0, 0, 1}};
  for (int i = 0; i < 16; ++i)
    ASSERT_EQ(training->Step(one).status().code(), StatusCode::kAborted) << i;
  const auto step = training->Step(one);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->loss, 0);
  EXPECT_FALSE(std::isfinite(Floats(training->push())[0]));
  EXPECT_EQ(training->loss_scale(), LossScaler::kLeast);
}

TEST(PrecisionTest, AnOperatorThatLacksItIsFoundAtOnceAndTheFieldNamed) {
  const TestFolder folder;
  SaveScript(folder.Path("determinant.pt"), {{.name = "weight", .shape = {3, 3}, .value = 1}}, R"(
def forward(self, x):
    y = torch.matmul(x, self.weight)
    return y + torch.logdet(torch.matmul(y, y.t()))
)");
  const auto training = Training::Create({.model_path = folder.Path("determinant.pt"),
                                          .loss = "CrossEntropy",
                                          .train = {.path = testing::Small(folder)},
                                          .precision = Precision::kFloat16});
  ASSERT_FALSE(training.ok());
  EXPECT_EQ(training.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(training.status()),
              AllOf(HasSubstr("training.precision Float16: "), HasSubstr("not supported")));
}

TEST(PrecisionTest, EvaluationsAreInFloat32) {
  const TestFolder folder;
  TrainingOptions options = Softmax(folder);
  options.eval = options.train;
  const auto whole = Make(options);
  options.precision = Precision::kBFloat16;
  const auto reduced = Make(options);
  const auto want = whole->Evaluate(), got = reduced->Evaluate();
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_EQ(got->loss, want->loss);
}

// --- Beside PyTorch (tests/golden/learn/amp.py).

std::string FirstLine(const std::string& command) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::array<char, 4096> line{};
  if (pipe == nullptr || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return "";
  std::string text = line.data();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

struct PyTorchCase {
  std::string model;
  std::string loss;
  Precision precision;
};

class BesidePyTorchTest : public ::testing::TestWithParam<PyTorchCase> {};

std::vector<float> Recorded(const store::SafetensorsFile& file, const std::string& name) {
  const auto* tensor = file.Find(name);
  EXPECT_NE(tensor, nullptr) << name;
  return tensor == nullptr ? std::vector<float>() : Floats(tensor->bytes);
}

// The scale of each step, which of them were skipped, and the gradients of the last.
TEST_P(BesidePyTorchTest, StepsAreThoseOfAutocastAndGradScaler) {
  const std::string python = FirstLine(InSource("tools/setup --python 2>/dev/null"));
  if (python.empty()) GTEST_SKIP() << "no Python with PyTorch here (tools/setup makes one)";
  const PyTorchCase& c = GetParam();
  const TestFolder folder;
  const std::string command =
      fmt::format("'{}' -B '{}/tests/golden/learn/amp.py' {} {} '{}' && echo done", python,
                  InSource(), c.model, Name(c.precision), folder.Path(""));
  ASSERT_EQ(FirstLine(command), "done");
  const auto recorded = store::SafetensorsFile::Open(folder.Path("steps.safetensors"));
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  const auto training = Make({.model_path = folder.Path("model.pt"),
                              .loss = c.loss,
                              .train = {.path = folder.Path("data.safetensors")},
                              .precision = c.precision});
  ASSERT_NE(training, nullptr);
  const std::vector<SampleRange> all{{0, 0, training->train_samples()}};
  const std::vector<float> losses = Recorded(*recorded, "losses");
  const std::vector<float> scales = Recorded(*recorded, "scales");
  const std::vector<float> skipped = Recorded(*recorded, "skipped");
  ASSERT_GE(losses.size(), 8u);
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto step = training->Step(all);
    EXPECT_EQ(step.ok(), skipped[i] == 0) << i << ": " << step.status();
    if (step.ok()) {
      EXPECT_NEAR(step->loss, losses[i], 1e-6 * std::abs(losses[i])) << i;
    }
    EXPECT_EQ(training->loss_scale(), scales[i]) << i;
  }
  ASSERT_EQ(skipped.back(), 0);
  const std::span<const std::byte> push = training->push();
  for (const store::TensorPlace& place : training->layout().tensors()) {
    if (place.spec.kind != store::TensorKind::kParameter) continue;
    const auto want = Recorded(*recorded, "gradient." + place.spec.name);
    const auto got = Floats(push.subspan(place.offset_bytes, place.size_bytes));
    ASSERT_EQ(got.size(), want.size()) << place.spec.name;
    EXPECT_LT(Distance(got, want), 1e-6) << place.spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BesidePyTorchTest,
                         ::testing::Values(PyTorchCase{"mlp", "CrossEntropy", Precision::kFloat16},
                                           PyTorchCase{"mlp", "CrossEntropy", Precision::kBFloat16},
                                           PyTorchCase{"cnn", "", Precision::kFloat16},
                                           PyTorchCase{"cnn", "", Precision::kBFloat16}),
                         [](const auto& info) {
                           return info.param.model + std::string(Name(info.param.precision));
                         });

}  // namespace
}  // namespace paceline::learn
