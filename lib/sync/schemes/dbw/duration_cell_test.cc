#include "lib/sync/schemes/dbw/duration_cell.h"

#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/testing/virtual_cluster.h"

namespace paceline::sync {
namespace {

using Change = DurationCell::Change;

DurationCell Seen(const std::vector<double>& times) {
  DurationCell cell;
  for (const double time : times) EXPECT_EQ(cell.Add(time), Change::kNone) << time;
  return cell;
}

TEST(DurationCell, TwoFarOffInARowAreAChange) {
  DurationCell cell = Seen({1, 1, 1.1, 0.9, 1});
  EXPECT_EQ(cell.Add(5), Change::kNone);
  EXPECT_NEAR(cell.Mean(), 10.0 / 6, 1e-12);  // It counts, like any other.
  EXPECT_EQ(cell.Add(6), Change::kRose);
  EXPECT_NEAR(cell.Mean(), 5.5, 1e-12);
  EXPECT_EQ(cell.count(), 2);
  for (const double time : {5.0, 5.0, 5.0}) EXPECT_EQ(cell.Add(time), Change::kNone);
  EXPECT_EQ(cell.Add(1), Change::kNone);
  EXPECT_EQ(cell.Add(1), Change::kFell);
  EXPECT_NEAR(cell.Mean(), 1, 1e-12);
}

TEST(DurationCell, OneAloneIsNoneNorAreTwoToDifferentSides) {
  DurationCell cell = Seen({1, 1, 1, 1, 5, 1});
  EXPECT_EQ(cell.count(), 6);
  DurationCell sides = Seen({1, 1, 1, 1, 1, 1});
  EXPECT_EQ(sides.Add(3), Change::kNone);
  EXPECT_EQ(sides.Add(0.1), Change::kNone);
  EXPECT_EQ(sides.count(), 8);
}

TEST(DurationCell, KnowsTooLittleAtFirst) { Seen({1, 9, 1, 9}); }

TEST(DurationCell, ExponentialTimesHardlyEverLookLikeAChange) {
  testing::Draws draws(1);
  DurationCell cell;
  int changes = 0;
  for (int i = 0; i < 10000; ++i) changes += cell.Add(draws.Exponential()) != Change::kNone;
  EXPECT_LE(changes, 2);
}

TEST(DurationCell, InDoubtOfAllTheNewestCountAsLittle) {
  DurationCell cell = Seen({1, 1, 1, 1, 1, 10});
  cell.DoubtAll();
  EXPECT_NEAR(cell.count(), 0.1, 1e-12);
  EXPECT_EQ(cell.Add(2), Change::kNone);
  EXPECT_NEAR(cell.Mean(), (0.1 * 15 / 6 + 2) / 1.1, 1e-12);
}

TEST(DurationCell, NextToNothingIsNothing) {
  DurationCell cell = Seen({1, 2});
  cell.Age(0.25);
  EXPECT_NEAR(cell.Mean(), 1.5, 1e-12);
  EXPECT_EQ(cell.count(), 0.5);
  cell.Age(1e-4);
  EXPECT_TRUE(cell.is_empty());
}

}  // namespace
}  // namespace paceline::sync
