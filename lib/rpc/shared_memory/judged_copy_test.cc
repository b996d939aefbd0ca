#include "lib/rpc/shared_memory/judged_copy.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "lib/rpc/shared_memory/in_shares.h"
#include "lib/store/layout.h"
#include "lib/store/slice_parts.h"

namespace paceline::rpc {
namespace {

std::vector<std::byte> Floats(uint64_t bytes) {
  std::vector<std::byte> memory(bytes);
  std::minstd_rand drawn(1);
  std::normal_distribution<float> normal;
  for (uint64_t at = 0; at < bytes; at += sizeof(float)) {
    const float value = normal(drawn);
    std::memcpy(&memory[at], &value, sizeof(value));
  }
  return memory;
}

TEST(JudgedCopyTest, SeveralThreadsChangeNoBit) {
  // Parts that begin and end within a block, as those of one tensor after the other.
  const uint64_t total = 5 * kShareBytesMin + 12'340, cut = 3 * kShareBytesMin + 20;
  const std::vector<std::byte> from = Floats(total);
  const store::SliceParts parts{total - 4096, total, total, total};
  const std::vector<double> norms = store::BlockSquaredNorms(from, parts);
  for (const int threads : {1, 2, 4}) {
    std::vector<std::byte> into(total);
    JudgedCopy copy(parts, into);
    for (const auto& [begin, end] : {std::pair{cut, total}, std::pair{uint64_t{0}, cut}}) {
      InShares(begin, end, store::kBlockBytes, threads, [&](uint64_t first, uint64_t last) {
        copy.Put(first, std::span(from).subspan(first, last - first));
      });
    }
    const store::Receipt receipt = copy.Finish();
    EXPECT_EQ(receipt.block_squared_norms, norms) << threads;
    EXPECT_TRUE(receipt.is_finite);
    EXPECT_EQ(into, from) << threads;
  }
}

}  // namespace
}  // namespace paceline::rpc
