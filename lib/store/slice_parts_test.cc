#include "lib/store/slice_parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::store {
namespace {

// Two and a half blocks of parameters, then float buffers, then int64 ones.
Layout SmallLayout() {
  return Layout::Create({{"w", {40960}},
                         {"mean", {10}, DataType::kFloat32, TensorKind::kBuffer},
                         {"count", {2}, DataType::kInt64, TensorKind::kBuffer}})
      .value();
}

std::vector<std::byte> SmallPush(const Layout& layout) {
  std::vector<std::byte> push(layout.total_bytes());
  for (uint64_t at = 0; at < layout.float_bytes(); at += sizeof(float)) {
    const float value = static_cast<float>(at % 1009) / 64 - 5;
    std::memcpy(push.data() + at, &value, sizeof value);
  }
  return push;
}

TEST(PushJudgeTest, PiecesOfAnySizeGiveTheSameBits) {
  const Layout layout = SmallLayout();
  const SliceParts parts = PartsOf(layout, {0, layout.total_bytes()});
  const std::vector<std::byte> push = SmallPush(layout);
  const Receipt whole = Judge(push, parts);
  ASSERT_EQ(whole.block_squared_norms.size(), 3u);
  for (const uint64_t piece : {1000u, 65535u, 65536u, 65537u, 100000u}) {
    PushJudge judge(parts);
    for (uint64_t begin = 0; begin + piece < push.size(); begin += piece)
      judge.See(push, begin, begin + piece);
    const Receipt pieces = judge.Finish(push);
    EXPECT_EQ(pieces.block_squared_norms, whole.block_squared_norms) << piece;
    EXPECT_TRUE(pieces.is_finite);
  }
}

TEST(PushJudgeTest, PiecesInAnyOrderGiveTheSameBits) {
  const Layout layout = SmallLayout();
  const SliceParts parts = PartsOf(layout);
  const std::vector<std::byte> push = SmallPush(layout);
  const Receipt whole = Judge(push, parts);
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::byte> filling(push.size(), std::byte{0xff});
    std::vector<uint64_t> cuts{0, push.size()};
    for (int i = 0; i < 6; ++i) cuts.push_back(random() % push.size());
    std::ranges::sort(cuts);
    std::vector<size_t> order(cuts.size() - 1);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    PushJudge judge(parts);
    for (const size_t i : order) {
      std::copy(push.begin() + cuts[i], push.begin() + cuts[i + 1], filling.begin() + cuts[i]);
      judge.See(filling, cuts[i], cuts[i + 1]);
    }
    EXPECT_EQ(judge.Finish(filling).block_squared_norms, whole.block_squared_norms);
  }
}

TEST(PushJudgeTest, BytesThatAreNotThereYetAreNotLookedAt) {
  const Layout layout = SmallLayout();
  const SliceParts parts = PartsOf(layout, {0, layout.total_bytes()});
  std::vector<std::byte> push(layout.total_bytes(), std::byte{0xff});  // NaNs.
  PushJudge judge(parts);
  judge.See(push, 1, kBlockBytes);
  push = SmallPush(layout);
  EXPECT_EQ(judge.Finish(push).block_squared_norms, Judge(push, parts).block_squared_norms);
}

TEST(PushJudgeTest, NonFiniteParametersAndBuffersAreSeen) {
  const Layout layout = SmallLayout();
  const SliceParts parts = PartsOf(layout, {0, layout.total_bytes()});
  for (const uint64_t at : {uint64_t{0}, layout.parameter_bytes() - 4, layout.float_bytes() - 4}) {
    std::vector<std::byte> push = SmallPush(layout);
    const float bad = std::numeric_limits<float>::infinity();
    std::memcpy(push.data() + at, &bad, sizeof bad);
    EXPECT_FALSE(PushJudge(parts).Finish(push).is_finite) << at;
  }
}

}  // namespace
}  // namespace paceline::store
