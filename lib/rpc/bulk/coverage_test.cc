#include "lib/rpc/bulk/coverage.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::rpc {
namespace {

TEST(CoverageTest, IsCompleteOnceEachByteIsThere) {
  Coverage coverage;
  EXPECT_TRUE(coverage.IsComplete(0));
  EXPECT_TRUE(coverage.Add(10, 30));
  EXPECT_TRUE(coverage.Add(0, 10));
  EXPECT_FALSE(coverage.IsComplete(40));
  EXPECT_TRUE(coverage.Add(30, 40));
  EXPECT_TRUE(coverage.Add(17, 17)) << "nothing";
  EXPECT_TRUE(coverage.IsComplete(40));
  EXPECT_FALSE(coverage.IsComplete(39));
  EXPECT_FALSE(coverage.IsComplete(41));
}

TEST(CoverageTest, WhatComesTwiceIsNeverComplete) {
  for (const auto& [begin, end] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 1}, {9, 11}, {19, 21}, {12, 14}, {0, 40}, {10, 20}, {9, 10}}) {
    Coverage coverage;
    ASSERT_TRUE(coverage.Add(0, 10));
    ASSERT_TRUE(coverage.Add(10, 20));
    EXPECT_FALSE(coverage.Add(begin, end)) << begin;
    (void)coverage.Add(20, 40);
    EXPECT_FALSE(coverage.IsComplete(40)) << begin;
  }
}

TEST(CoverageTest, AnyOrderWillDoAndAnyGapWillNot) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const uint64_t size = 1 + random() % 60;
    std::vector<uint64_t> cuts{0, size};
    for (int i = 0; i < 6; ++i) cuts.push_back(random() % (size + 1));
    std::ranges::sort(cuts);
    std::vector<std::pair<uint64_t, uint64_t>> parts;
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i - 1] < cuts[i]) parts.emplace_back(cuts[i - 1], cuts[i]);
    }
    std::ranges::shuffle(parts, random);
    Coverage coverage;
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSERT_FALSE(coverage.IsComplete(size));
      ASSERT_TRUE(coverage.Add(parts[i].first, parts[i].second));
    }
    ASSERT_TRUE(coverage.IsComplete(size));
  }
}

}  // namespace
}  // namespace paceline::rpc
