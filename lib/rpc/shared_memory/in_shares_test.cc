#include "lib/rpc/shared_memory/in_shares.h"

#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace paceline::rpc {
namespace {

struct Seen {
  std::set<std::pair<uint64_t, uint64_t>> parts;  // In order.
  std::set<std::thread::id> threads;
};

Seen See(uint64_t begin, uint64_t end, uint64_t unit, int threads) {
  Seen seen;
  std::mutex mutex;
  InShares(begin, end, unit, threads, [&](uint64_t from, uint64_t to) {
    std::lock_guard lock(mutex);
    seen.parts.emplace(from, to);
    seen.threads.insert(std::this_thread::get_id());
  });
  return seen;
}

TEST(InSharesTest, PartsAreAllOfItCutAtUnits) {
  constexpr uint64_t kUnit = 64 << 10;
  for (const int threads : {0, 1, 2, 3, 8}) {
    for (const uint64_t begin : {uint64_t{0}, uint64_t{12}, kUnit - 4}) {
      const uint64_t end = begin + 40 * (uint64_t{1} << 20) + 20;
      uint64_t at = begin;
      for (const auto& [from, to] : See(begin, end, kUnit, threads).parts) {
        EXPECT_EQ(from, at);
        EXPECT_TRUE(from == begin || from % kUnit == 0) << from;
        at = to;
      }
      EXPECT_EQ(at, end);
    }
  }
}

TEST(InSharesTest, SmallOnesAreOfOneThread) {
  EXPECT_EQ(See(0, 2 * kShareBytesMin - 1, 4, 8).parts.size(), 1u);
  EXPECT_EQ(See(0, 2 * kShareBytesMin, 4, 8).parts.size(), 2u);
  EXPECT_EQ(See(0, 2 * kShareBytesMin, 4, 1).parts.size(), 1u);
  EXPECT_EQ(See(7, 7, 4, 8).parts.size(), 1u);
  EXPECT_EQ(See(0, 4 * kShareBytesMin, 4, 4).threads.size(), 4u);
}

}  // namespace
}  // namespace paceline::rpc
