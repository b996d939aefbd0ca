// Steps on parameters that lie somewhere else than in the model's own memory.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "lib/learn/testing/trainings.h"
#include "lib/learn/training.h"

namespace paceline::learn {
namespace {

using testing::Floats;
using testing::Make;
using testing::Scaled;
using testing::Softmax;
using testing::TestFolder;

const std::vector<SampleRange> kAllSeven{{0, 0, 7}};

// A whole layout, aligned as it is asked for.
struct Elsewhere {
  explicit Elsewhere(Training& training)
      : memory(training.parameters().size() + 64),
        bytes(Aligned(memory), training.parameters().size()) {
    std::ranges::copy(training.parameters(), bytes.begin());
  }
  static std::byte* Aligned(std::vector<std::byte>& memory) {
    const auto at = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (64 - at % 64) % 64;
  }
  std::span<float> floats() const {
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }

  std::vector<std::byte> memory;
  std::span<std::byte> bytes;
};

std::vector<std::byte> PushOf(Training& training) {
  EXPECT_TRUE(training.Step(kAllSeven).ok());
  return {training.push().begin(), training.push().end()};
}

TEST(ElsewhereTest, GradientsAreOfTheParametersThere) {
  const TestFolder folder;
  const auto training = Make(Softmax(folder)), own = Make(Softmax(folder));
  Elsewhere there(*training);
  for (float& value : there.floats()) value *= 2;
  std::ranges::copy(there.bytes, own->parameters().begin());
  std::ranges::fill(training->parameters(), std::byte{0x7f});
  ASSERT_TRUE(training->ComputeOn(there.bytes));
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(PushOf(*training), PushOf(*own)) << step;
    // As a new version comes in its place.
    for (float& value : there.floats()) value += 0.25F;
    std::ranges::copy(there.bytes, own->parameters().begin());
  }
}

TEST(ElsewhereTest, AndOnItsOwnAgain) {
  const TestFolder folder;
  const auto training = Make(Softmax(folder)), own = Make(Softmax(folder));
  {
    Elsewhere there(*training);
    for (float& value : there.floats()) value = 0;
    ASSERT_TRUE(training->ComputeOn(there.bytes));
    (void)PushOf(*training);
    ASSERT_TRUE(training->ComputeOn({}));
  }
  EXPECT_EQ(PushOf(*training), PushOf(*own));
}

TEST(ElsewhereTest, BuffersAreCopiedAndNothingThereIsWritten) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  Elsewhere there(*training);
  const std::vector<std::byte> before(there.bytes.begin(), there.bytes.end());
  // The float buffer.
  there.floats()[1] = 100;
  const std::vector<std::byte> given(there.bytes.begin(), there.bytes.end());
  ASSERT_TRUE(training->ComputeOn(there.bytes));
  ASSERT_TRUE(training->Step(std::vector<SampleRange>{{0, 0, 1}}).ok());
  EXPECT_EQ(Floats(training->push())[1], 101);
  EXPECT_EQ(Floats(training->push())[2], 11);
  EXPECT_TRUE(std::ranges::equal(there.bytes, given));
  EXPECT_NE(before, given);
}

TEST(ElsewhereTest, AStepThatIsGivenUpLeavesAllAsItWas) {
  const TestFolder folder;
  const auto training = Scaled(folder);
  Elsewhere there(*training);
  ASSERT_TRUE(training->ComputeOn(there.bytes));
  int asked = 0;
  const std::vector<SampleRange> one{{0, 0, 1}};
  EXPECT_EQ(training->Step(one, [&] { return ++asked < 4; }).status().code(),
            StatusCode::kCancelled);
  ASSERT_TRUE(training->Step(one).ok());
  EXPECT_EQ(Floats(training->push())[1], 11);
}

}  // namespace
}  // namespace paceline::learn
