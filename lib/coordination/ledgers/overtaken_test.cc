#include "lib/coordination/ledgers/overtaken.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

using protocol::SampleRange;

const WorkerId kW0{0}, kW1{1};

TEST(OvertakenTest, AWorkerIsLateUntilAStepOfItCounts) {
  Overtaken overtaken;
  EXPECT_FALSE(overtaken.IsLate(kW0));
  overtaken.Add(kW0, {0, 8, 16});
  EXPECT_TRUE(overtaken.IsLate(kW0));
  EXPECT_FALSE(overtaken.IsLate(kW1));
  overtaken.Counted(kW1, {0, 8, 16});
  EXPECT_TRUE(overtaken.IsLate(kW0));
  overtaken.Counted(kW0, {0, 20, 24});
  EXPECT_FALSE(overtaken.IsLate(kW0));
  overtaken.Add(kW1, {0, 30, 31});
  overtaken.Forget(kW1);
  EXPECT_FALSE(overtaken.IsLate(kW1));
}

TEST(OvertakenTest, SamplesAreSoUntilTheyCount) {
  Overtaken overtaken;
  overtaken.Add(kW0, {0, 8, 16});
  overtaken.Add(kW1, {0, 4, 10});  // Partly again.
  EXPECT_EQ(overtaken.FirstOther({0, 5, 20}), (SampleRange{0, 16, 20}));
  EXPECT_EQ(overtaken.FirstOther({0, 0, 20}), (SampleRange{0, 0, 4}));
  EXPECT_EQ(overtaken.FirstOther({0, 5, 16}).size(), 0u);
  EXPECT_EQ(overtaken.FirstOther({1, 5, 16}), (SampleRange{1, 5, 16}));
  overtaken.Counted(kW1, {0, 6, 12});
  EXPECT_EQ(overtaken.FirstOther({0, 5, 16}), (SampleRange{0, 6, 12}));
  overtaken.Forget(uint64_t{0});
  EXPECT_EQ(overtaken.FirstOther({0, 5, 16}), (SampleRange{0, 5, 16}));
}

// However ranges are cut.
TEST(OvertakenTest, KnowsEachPosition) {
  constexpr uint64_t kPositions = 40;
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Overtaken overtaken;
    std::vector<bool> is_so(kPositions);
    for (int i = 0; i < 12; ++i) {
      const uint64_t begin = random() % kPositions;
      const uint64_t end = begin + 1 + random() % (kPositions - begin);
      const bool counts = random() % 3 == 0;
      counts ? overtaken.Counted(kW0, {2, begin, end}) : overtaken.Add(kW0, {2, begin, end});
      for (uint64_t at = begin; at < end; ++at) is_so[at] = !counts;
      for (uint64_t from = 0; from < kPositions; ++from) {
        const SampleRange other = overtaken.FirstOther({2, from, kPositions});
        uint64_t first = from;
        while (first < kPositions && is_so[first]) ++first;
        uint64_t last = first;
        while (last < kPositions && !is_so[last]) ++last;
        ASSERT_EQ(other.size(), last - first);
        if (last > first) {
          ASSERT_EQ(other.begin, first);
        }
      }
    }
  }
}

}  // namespace
}  // namespace paceline::coordination
