// A push that is handed over in parts while the backward pass goes on.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "lib/learn/testing/trainings.h"
#include "lib/learn/training.h"

namespace paceline::learn {
namespace {

using testing::kAllFour;
using testing::Make;
using testing::SaveScript;
using testing::Scaled;
using testing::ScriptKind;
using testing::Small;
using testing::Softmax;
using testing::TestFolder;

const std::vector<SampleRange> kAllSeven{{0, 0, 7}};

// A push put together of its parts; each byte must come once.
struct Collected {
  explicit Collected(const Training& training)
      : bytes(training.layout().total_bytes()), times(bytes.size()) {}
  HandPart Hand() {
    return [this](uint64_t offset, std::span<const std::byte> part) {
      ASSERT_LE(offset + part.size(), bytes.size());
      std::copy(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
      for (size_t i = 0; i < part.size(); ++i) ++times[offset + i];
      offsets.push_back(offset);
    };
  }
  bool IsWhole() const {
    return std::ranges::all_of(times, [](int n) { return n == 1; });
  }

  std::vector<std::byte> bytes;
  std::vector<int> times;
  std::vector<uint64_t> offsets;
};

std::vector<std::byte> PushOf(Training& training, std::span<const SampleRange> ranges) {
  EXPECT_TRUE(training.Step(ranges).ok());
  return {training.push().begin(), training.push().end()};
}

TEST(HandTest, PartsAreThePushWhateverTheMicroBatches) {
  for (const uint64_t micro_batch_size : {0, 1, 3}) {
    const TestFolder folder;
    TrainingOptions options = Softmax(folder);
    options.micro_batch_size = micro_batch_size;
    const auto handing = Make(options), whole = Make(options);
    for (int step = 0; step < 3; ++step) {
      Collected collected(*handing);
      ASSERT_TRUE(handing->Step(kAllSeven, {}, collected.Hand()).ok());
      EXPECT_TRUE(collected.IsWhole());
      EXPECT_EQ(collected.bytes, PushOf(*whole, kAllSeven)) << "step " << step;
    }
    // And back to a push that stays.
    EXPECT_EQ(PushOf(*handing, kAllSeven), PushOf(*whole, kAllSeven));
  }
}

TEST(HandTest, GradientsComeWhileTheOthersAreToCome) {
  const TestFolder folder;
  const auto training = Make(Softmax(folder));
  Collected collected(*training);
  std::vector<size_t> had;
  ASSERT_TRUE(training
                  ->Step(
                      kAllSeven,
                      [&] {
                        had.push_back(collected.offsets.size());
                        return true;
                      },
                      collected.Hand())
                  .ok());
  // Two layers with weight and bias: asked thrice before the first gradient, and after each.
  ASSERT_EQ(had.size(), 7u);
  EXPECT_EQ(std::vector<size_t>(had.begin() + 3, had.end()), (std::vector<size_t>{1, 2, 3, 4}));
  // The last layer's come first.
  EXPECT_GT(collected.offsets[0], collected.offsets[3]);
}

TEST(HandTest, BuffersComeAtTheEnd) {
  const TestFolder folder;
  const auto handing = Scaled(folder, 1), whole = Scaled(folder, 1);
  for (int step = 0; step < 2; ++step) {
    Collected collected(*handing);
    ASSERT_TRUE(handing->Step(kAllFour, {}, collected.Hand()).ok());
    EXPECT_TRUE(collected.IsWhole());
    EXPECT_EQ(collected.bytes, PushOf(*whole, kAllFour));
  }
}

// One that no pass comes to, and one that only some micro-batches come to.
TEST(HandTest, WhatIsUnusedIsZeroAndWhatWasUsedEarlierCounts) {
  constexpr char kSometimes[] = R"(
def forward(self, x):
    y = self.always * x
    if bool((x[0, 0] > 0.5).item()):
        y = y + self.sometimes * x
    return y
)";
  const TestFolder folder;
  SaveScript(folder.Path("sometimes.pt"),
             {{.name = "always", .shape = {1}, .value = 3},
              {.name = "kept", .shape = {2}, .value = 3},
              {.name = "never", .shape = {5}, .value = 1},
              {.name = "sometimes", .shape = {1}, .value = 2}},
             kSometimes);
  const std::string data = folder.Write(
      "data.safetensors",
      testing::Safetensors({{"inputs", "F32", {4, 1}, testing::Bytes<float>({0, 1, 0, 1})},
                            {"targets", "F32", {4, 1}, testing::Bytes<float>({1, 2, 3, 4})}}));
  int with_sometimes = 0, without_sometimes = 0;
  for (const uint64_t seed : {0, 1, 2, 3}) {
    const TrainingOptions options{.model_path = folder.Path("sometimes.pt"),
                                  .is_frozen = [](std::string_view name) { return name == "kept"; },
                                  .loss = "MeanSquaredError",
                                  .train = {.path = data},
                                  .seed = seed,
                                  .micro_batch_size = 1};
    const auto handing = Make(options), whole = Make(options);
    for (uint64_t epoch = 0; epoch < 4; ++epoch) {
      const std::vector<SampleRange> ranges{{epoch, 0, 4}};
      Collected collected(*handing);
      const auto handed = handing->Step(ranges, {}, collected.Hand());
      ASSERT_TRUE(handed.ok());
      EXPECT_TRUE(collected.IsWhole());
      EXPECT_EQ(collected.bytes, PushOf(*whole, ranges)) << "seed " << seed << " epoch " << epoch;
      EXPECT_EQ(handed->without_gradient, std::vector<uint32_t>{2}) << "frozen ones are not named";
      for (uint64_t i = 0; i < 4; ++i) {
        const std::vector<SampleRange> one{{epoch, i, i + 1}};
        Collected part(*handing);
        const std::vector<uint32_t> in_parts =
            handing->Step(one, {}, part.Hand())->without_gradient;
        EXPECT_EQ(in_parts, whole->Step(one)->without_gradient);
        without_sometimes += in_parts == std::vector<uint32_t>{2, 3};
        with_sometimes += in_parts == std::vector<uint32_t>{2};
      }
    }
  }
  EXPECT_EQ(with_sometimes, 32);
  EXPECT_EQ(without_sometimes, 32);
}

TEST(HandTest, AStepThatIsGivenUpLeavesTheNextOneAsItIs) {
  const TestFolder folder;
  const auto handing = Scaled(folder, 2), whole = Scaled(folder, 2);
  for (int ask = 1; ask < 8; ++ask) {
    Collected spoilt(*handing);
    int asked = 0;
    const auto result = handing->Step(
        kAllFour, [&] { return ++asked < ask; }, spoilt.Hand());
    if (result.ok()) {
      EXPECT_GT(ask, 7);
      break;
    }
    EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
    Collected collected(*handing);
    ASSERT_TRUE(handing->Step(kAllFour, {}, collected.Hand()).ok());
    EXPECT_TRUE(collected.IsWhole());
    EXPECT_EQ(collected.bytes, PushOf(*whole, kAllFour)) << "given up at question " << ask;
  }
}

}  // namespace
}  // namespace paceline::learn
