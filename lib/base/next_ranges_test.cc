#include "lib/base/next_ranges.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void See(NextRanges& next, std::vector<EpochRange> ranges) { next.See(ranges); }

TEST(NextRangesTest, FollowsAWorkersTurns) {
  NextRanges next(1000);
  for (const uint64_t begin : {32, 96, 160}) {
    See(next, {{0, begin, begin + 32}});
    EXPECT_THAT(next.Guess(), IsEmpty()) << begin;
  }
  See(next, {{0, 224, 256}});
  EXPECT_THAT(next.Guess(), ElementsAre(EpochRange{0, 288, 320}));
}

TEST(NextRangesTest, GoesOverTheBorderOfAnEpoch) {
  NextRanges next(100);
  for (const uint64_t begin : {0, 20, 40, 60}) See(next, {{0, begin, begin + 20}});
  EXPECT_THAT(next.Guess(), ElementsAre(EpochRange{0, 80, 100}));
  See(next, {{0, 80, 100}});
  EXPECT_THAT(next.Guess(), ElementsAre(EpochRange{1, 0, 20}));
  NextRanges between(90);
  for (const uint64_t begin : {0, 20, 40, 60}) See(between, {{0, begin, begin + 20}});
  EXPECT_THAT(between.Guess(), ElementsAre(EpochRange{0, 80, 90}, EpochRange{1, 0, 10}));
  See(between, {{0, 80, 90}, {1, 0, 10}});
  EXPECT_THAT(between.Guess(), ElementsAre(EpochRange{1, 10, 30}));
}

TEST(NextRangesTest, LooksSeveralStepsAhead) {
  NextRanges next(100);
  for (const uint64_t begin : {0, 20, 40, 60}) See(next, {{0, begin, begin + 10}});
  EXPECT_EQ(next.Guess(1), next.Guess());
  EXPECT_THAT(next.Guess(2), ElementsAre(EpochRange{1, 0, 10}));
  EXPECT_THAT(next.Guess(8), ElementsAre(EpochRange{2, 20, 30}));
  See(next, {{0, 80, 90}});
  EXPECT_THAT(next.Guess(1), ElementsAre(EpochRange{1, 0, 10})) << "what was said two steps ahead";
}

TEST(NextRangesTest, IsSilentWhereItWasWrong) {
  NextRanges next(1000);
  for (const uint64_t begin : {0, 64, 128, 192}) See(next, {{0, begin, begin + 32}});
  EXPECT_THAT(next.Guess(), ElementsAre(EpochRange{0, 256, 288}));
  See(next, {{0, 224, 256}});
  EXPECT_THAT(next.Guess(), IsEmpty());
  See(next, {{0, 256, 288}});
  EXPECT_THAT(next.Guess(), IsEmpty());
  See(next, {{0, 288, 320}});
  EXPECT_THAT(next.Guess(), ElementsAre(EpochRange{0, 320, 352}));
}

TEST(NextRangesTest, MakesNothingOfScatteredOrRepeatedSamples) {
  NextRanges next(1000);
  for (int i = 0; i < 5; ++i) {
    See(next, {{0, 5, 10}, {0, 20, 25}});
    EXPECT_THAT(next.Guess(), IsEmpty());
  }
  for (int i = 0; i < 5; ++i) {
    See(next, {{0, 5, 10}});
    EXPECT_THAT(next.Guess(), IsEmpty());
  }
  See(next, {});
  EXPECT_THAT(next.Guess(), IsEmpty());
}

}  // namespace
}  // namespace paceline
