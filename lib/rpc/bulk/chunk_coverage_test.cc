#include "lib/rpc/bulk/chunk_coverage.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/limits.h"

namespace paceline::rpc {
namespace {

using ::testing::HasSubstr;

ReceivedChunk Chunk(uint64_t offset, size_t size, uint64_t total, bool is_last = false) {
  const std::vector<std::byte> data(size);
  return ReceivedChunk::Decode(
             EncodeChunk({.offset_bytes = offset, .total_bytes = total, .is_last = is_last}, data,
                         nullptr))
      .value();
}

TEST(ChunkCoverageTest, TakesChunksInAnyOrder) {
  ChunkCoverage coverage(10);
  EXPECT_TRUE(coverage.Add(Chunk(6, 4, 10)).ok());
  EXPECT_TRUE(coverage.Add(Chunk(0, 3, 10)).ok());
  EXPECT_EQ(coverage.received_bytes(), 7u);
  EXPECT_FALSE(coverage.is_complete());
  EXPECT_TRUE(coverage.Add(Chunk(3, 3, 10, true)).ok());
  EXPECT_TRUE(coverage.is_complete());
  EXPECT_THAT(Message(coverage.Add(Chunk(0, 0, 10))), HasSubstr("comes after the last one"));
}

// The last byte may be here before its sender knows that it wants the push to count.
TEST(ChunkCoverageTest, IsCompleteOnlyOnceTheLastIsMarked) {
  ChunkCoverage coverage(10);
  EXPECT_TRUE(coverage.Add(Chunk(0, 10, 10)).ok());
  EXPECT_FALSE(coverage.is_complete());
  EXPECT_TRUE(coverage.Add(Chunk(10, 0, 10, true)).ok());
  EXPECT_TRUE(coverage.is_complete());
}

TEST(ChunkCoverageTest, EmptySliceIsOneEmptyChunk) {
  ChunkCoverage coverage(0);
  EXPECT_FALSE(coverage.is_complete());
  EXPECT_TRUE(coverage.Add(Chunk(0, 0, 0, true)).ok());
  EXPECT_TRUE(coverage.is_complete());
}

TEST(ChunkCoverageTest, RefusesGapsOverlapsAndWhatLiesOutside) {
  const auto after_first = [](const ReceivedChunk& chunk) {
    ChunkCoverage coverage(10);
    EXPECT_TRUE(coverage.Add(Chunk(2, 4, 10)).ok());
    return Message(coverage.Add(chunk));
  };
  EXPECT_THAT(after_first(Chunk(0, 2, 11)), HasSubstr("slice differs: got 11 bytes, want 10"));
  EXPECT_THAT(after_first(Chunk(2, 4, 10)), HasSubstr("brings bytes again: 4 bytes at 2"));
  EXPECT_THAT(after_first(Chunk(0, 3, 10)), HasSubstr("brings bytes again"));
  EXPECT_THAT(after_first(Chunk(5, 5, 10)), HasSubstr("brings bytes again"));
  EXPECT_THAT(after_first(Chunk(6, 5, 10)), HasSubstr("outside of the slice"));
  EXPECT_THAT(after_first(Chunk(11, 0, 10)), HasSubstr("outside of the slice"));
  EXPECT_THAT(after_first(Chunk(~uint64_t{0}, 2, 10)), HasSubstr("outside of the slice"));
  EXPECT_THAT(after_first(Chunk(6, 4, 10, true)), HasSubstr("before all bytes: 8 of 10"));
}

TEST(ChunkCoverageTest, RemembersNoMoreStretchesThanItMay) {
  const uint64_t total = 4 * limits::kStretchesMax;
  ChunkCoverage coverage(total);
  for (uint64_t i = 0; i < limits::kStretchesMax; ++i)
    ASSERT_TRUE(coverage.Add(Chunk(2 * i, 1, total)).ok());
  EXPECT_THAT(Message(coverage.Add(Chunk(total - 1, 1, total))), HasSubstr("chunks lie apart"));
}

}  // namespace
}  // namespace paceline::rpc
