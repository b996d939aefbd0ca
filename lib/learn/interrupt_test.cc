// Steps that are given up, and what they leave.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/testing/trainings.h"

namespace paceline::learn {
namespace {

using testing::Floats;
using ::testing::HasSubstr;
using testing::kAllFour;
using testing::Make;
using testing::SaveScript;
using testing::Scaled;
using testing::ScriptKind;
using testing::Small;
using testing::Softmax;
using testing::TestFolder;

std::vector<std::byte> Copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

// Of each micro-batch there are four questions: before its data, after them, after its forward
// pass, and at the only gradient.
TEST(InterruptTest, InterruptedStepLeavesParametersAndBuffers) {
  const TestFolder folder;
  for (int last = 1; last <= 16; ++last) {
    const auto training = Scaled(folder, /*micro_batch_size=*/1);
    const std::vector<std::byte> before = Copy(training->parameters());
    int asked = 0;
    const auto result = training->Step(kAllFour, [&] { return ++asked < last; });
    EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
    EXPECT_EQ(asked, last);
    EXPECT_THAT(Message(result.status()), HasSubstr(fmt::format("{} of 4", (last - 1) / 4)));
    EXPECT_EQ(Copy(training->parameters()), before) << last;

    const auto next = training->Step(kAllFour);
    ASSERT_TRUE(next.ok());
    EXPECT_FLOAT_EQ(Floats(training->push())[0], 2 * 3 * 7.5f);
    EXPECT_FLOAT_EQ(Floats(training->push())[1], 14);  // Four micro-batches, each one more.
  }
}

// Two layers with BatchNorm between them, whose statistics each step in training moves.
TrainingOptions Normalised(const TestFolder& folder) {
  SaveScript(folder.Path("normalised.pt"),
             {{.name = "first", .shape = {4, 3}, .value = 0.5},
              {.name = "gain", .shape = {4}, .value = 1},
              {.name = "shift", .shape = {4}, .value = 0.25},
              {.name = "mean", .kind = ScriptKind::kBuffer, .shape = {4}, .value = 0},
              {.name = "variance", .kind = ScriptKind::kBuffer, .shape = {4}, .value = 1},
              {.name = "last", .shape = {2, 4}, .value = -0.5}},
             R"(
def forward(self, x):
    x = torch.matmul(x, torch.t(self.first))
    x = torch.batch_norm(x, self.gain, self.shift, self.mean, self.variance, self.training, 0.1, 1e-5, False)
    return torch.matmul(torch.relu(x), torch.t(self.last)) * torch.arange(1, 3)
)");
  return {.model_path = folder.Path("normalised.pt"),
          .loss = "CrossEntropy",
          .train = {.path = Small(folder)},
          .micro_batch_size = 4};
}

// The graph executor that fuses would tell of all gradients at the end of the pass.
TEST(InterruptTest, ScriptsAreAskedInTheMiddleOfTheBackwardPass) {
  const TestFolder folder;
  TrainingOptions options = Normalised(folder);
  options.micro_batch_size = 0;
  const auto training = Make(options);
  const std::vector<SampleRange> all{{0, 0, 7}};
  for (int step = 0; step < 4; ++step) {  // It optimises after some runs.
    // Until a gradient comes, that of the step before lies there.
    std::memset(const_cast<std::byte*>(training->push().data()), 0, training->push().size());
    std::vector<bool> has_first, has_last;
    const auto& tensors = training->layout().tensors();
    ASSERT_EQ(tensors[0].spec.name, "first");
    ASSERT_EQ(tensors[3].spec.name, "last");
    const auto is_there = [&](size_t tensor) {
      const float* const values =
          reinterpret_cast<const float*>(training->push().data() + tensors[tensor].offset_bytes);
      return std::any_of(values, values + tensors[tensor].size_bytes / sizeof(float),
                         [](float value) { return value != 0; });
    };
    ASSERT_TRUE(training
                    ->Step(all,
                           [&] {
                             has_first.push_back(is_there(0));
                             has_last.push_back(is_there(3));
                             return true;
                           })
                    .ok());
    ASSERT_EQ(has_last.size(), 7u);  // Three before the pass, and one a parameter.
    EXPECT_TRUE(has_last[3]);
    EXPECT_FALSE(has_first[3]);
    EXPECT_FALSE(has_first[5]);
    EXPECT_TRUE(has_first[6]);
  }
}

TEST(InterruptTest, AfterManyInterruptsTheGradientIsTheSameToTheBit) {
  const TestFolder folder;
  const std::vector<SampleRange> all{{0, 0, 7}};
  for (const TrainingOptions& options : {Normalised(folder), Softmax(folder)}) {
    const auto fresh = Make(options);
    int questions = 0;
    ASSERT_TRUE(fresh->Step(all, [&] { return ++questions > 0; }).ok());

    const auto training = Make(options);
    const std::vector<std::byte> before = Copy(training->parameters());
    for (int i = 0; i < 400; ++i) {
      int asked = 0;
      const auto result = training->Step(all, [&] { return ++asked <= i % questions; });
      ASSERT_EQ(result.status().code(), StatusCode::kCancelled);
      ASSERT_EQ(Copy(training->parameters()), before);
    }
    ASSERT_TRUE(training->Step(all).ok());
    EXPECT_EQ(Copy(training->push()), Copy(fresh->push()));
    EXPECT_EQ(Copy(training->parameters()), Copy(fresh->parameters()));
  }
}

}  // namespace
}  // namespace paceline::learn
