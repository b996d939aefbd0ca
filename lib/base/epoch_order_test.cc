#include "lib/base/epoch_order.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using ::testing::ElementsAre;

std::vector<uint32_t> Copy(std::span<const uint32_t> order) { return {order.begin(), order.end()}; }

// The generator's published first numbers for state 1234567.
TEST(SplitMix64Test, GivesThePublishedNumbers) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
}

TEST(SplitMix64Test, StaysBelowItsBound) {
  SplitMix64 random(1);
  std::vector<int> seen(7);
  for (int i = 0; i < 700; ++i) ++seen[random.Below(7)];
  for (const int count : seen) EXPECT_GT(count, 50);
  EXPECT_EQ(random.Below(1), 0u);
}

TEST(SplitMix64Test, UniformLiesInTheUnitInterval) {
  SplitMix64 random(1);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const double number = random.Uniform();
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    sum += number;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST(EpochOrderTest, KeepsItsGoldenOrders) {
  EpochOrder order(10, 1);
  EXPECT_THAT(order.Epoch(0), ElementsAre(1, 9, 3, 7, 2, 8, 4, 6, 5, 0));
  EXPECT_THAT(order.Epoch(1), ElementsAre(2, 3, 1, 0, 6, 8, 9, 7, 5, 4));
  EXPECT_THAT(EpochOrder(10, 2).Epoch(0), ElementsAre(0, 3, 2, 9, 1, 5, 6, 8, 4, 7));
}

TEST(EpochOrderTest, IsAPermutation) {
  EpochOrder order(1437, 3);
  for (const uint64_t epoch : {0, 1, 2, 1000000}) {
    std::vector<uint32_t> sorted = Copy(order.Epoch(epoch));
    std::sort(sorted.begin(), sorted.end());
    std::vector<uint32_t> want(1437);
    std::iota(want.begin(), want.end(), 0u);
    EXPECT_EQ(sorted, want) << "epoch " << epoch;
  }
}

TEST(EpochOrderTest, GivesTheSameOrderWhateverWasAskedBefore) {
  EpochOrder one(100, 5);
  EpochOrder other(100, 5);
  const std::vector<uint32_t> want = Copy(one.Epoch(4));
  for (const uint64_t epoch : {9, 4, 3, 4, 4, 8, 7, 4}) other.Epoch(epoch);
  EXPECT_EQ(Copy(other.Epoch(4)), want);
}

TEST(EpochOrderTest, KeepsTwoEpochsAlive) {
  EpochOrder order(100, 5);
  const std::span<const uint32_t> first = order.Epoch(0);
  const std::vector<uint32_t> copy = Copy(first);
  order.Epoch(1);
  EXPECT_EQ(Copy(first), copy);
  EXPECT_EQ(order.Epoch(0).data(), first.data());
}

TEST(EpochOrderTest, DiffersBetweenEpochsAndSeeds) {
  EpochOrder order(1000, 1);
  const std::vector<uint32_t> first = Copy(order.Epoch(0));
  EXPECT_NE(first, Copy(order.Epoch(1)));
  EXPECT_NE(first, Copy(EpochOrder(1000, 2).Epoch(0)));
}

// Of a fair shuffle each sample stands at each position equally often.
TEST(EpochOrderTest, FavoursNoPosition) {
  constexpr int kSamples = 8;
  constexpr int kEpochs = 8000;
  EpochOrder order(kSamples, 11);
  std::vector<int> count(kSamples * kSamples);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const auto samples = order.Epoch(static_cast<uint64_t>(epoch));
    for (int i = 0; i < kSamples; ++i) ++count[static_cast<size_t>(i * kSamples) + samples[i]];
  }
  double chi_squared = 0;
  for (const int seen : count) {
    const double expected = kEpochs / kSamples;
    chi_squared += (seen - expected) * (seen - expected) / expected;
  }
  EXPECT_LT(chi_squared, 90);  // 49 degrees of freedom: passed by chance once in 3000 seeds.
}

TEST(EpochOrderTest, HasNothingToOrderWithoutSamples) {
  EXPECT_TRUE(EpochOrder(0, 1).Epoch(0).empty());
}

TEST(EpochOrderTest, LeavesOneSampleInItsPlace) {
  EXPECT_THAT(EpochOrder(1, 1).Epoch(3), ElementsAre(0));
}

}  // namespace
}  // namespace paceline
