#include "lib/coordination/ledgers/unlucky.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

TEST(UnluckyTest, IsWhatCameBackTwice) {
  Unlucky unlucky;
  EXPECT_FALSE(unlucky.Holds({0, 0, 100}));
  unlucky.Interrupted({0, 8, 16});
  EXPECT_FALSE(unlucky.Holds({0, 0, 100}));
  unlucky.Interrupted({0, 4, 10});
  EXPECT_TRUE(unlucky.Holds({0, 9, 20}));
  EXPECT_TRUE(unlucky.Holds({0, 0, 9}));
  EXPECT_FALSE(unlucky.Holds({0, 10, 20}));
  EXPECT_FALSE(unlucky.Holds({0, 4, 8}));
  EXPECT_FALSE(unlucky.Holds({1, 8, 10}));
  unlucky.Forget(0);
  EXPECT_FALSE(unlucky.Holds({0, 0, 100}));
}

// However ranges are cut.
TEST(UnluckyTest, CountsEachPosition) {
  constexpr uint64_t kPositions = 40;
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Unlucky unlucky;
    std::vector<int> times(kPositions);
    for (int i = 0; i < 8; ++i) {
      const uint64_t begin = random() % kPositions;
      const uint64_t end = begin + 1 + random() % (kPositions - begin);
      unlucky.Interrupted({2, begin, end});
      for (uint64_t at = begin; at < end; ++at) ++times[at];
      for (uint64_t at = 0; at < kPositions; ++at)
        ASSERT_EQ(unlucky.Holds({2, at, at + 1}), times[at] >= 2) << at;
    }
  }
}

}  // namespace
}  // namespace paceline::coordination
