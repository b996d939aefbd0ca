#include "lib/sync/schemes/dbw/duration_table.h"

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

void FitAll(DurationTable& table) {
  while (table.WantsFit()) table.WorkOnFit(64);
}

TEST(RankGrid, EachRankHasACellUpToTheMost) {
  for (const uint32_t ranks : {1u, 2u, 63u, 64u}) {
    const RankGrid grid(ranks);
    EXPECT_EQ(grid.cells(), ranks);
    for (uint32_t rank = 1; rank <= ranks; ++rank) {
      EXPECT_EQ(grid.CellOf(rank), rank - 1);
      EXPECT_TRUE(grid.IsLast(rank));
    }
  }
}

TEST(RankGrid, ManyRanksShareCells) {
  for (const uint32_t ranks : {65u, 100u, 1000u, 1023u}) {
    const RankGrid grid(ranks);
    EXPECT_EQ(grid.cells(), 64u);
    EXPECT_EQ(grid.LastRank(63), ranks);
    uint32_t rank = 1;
    for (uint32_t cell = 0; cell < 64; ++cell) {
      for (; rank <= grid.LastRank(cell); ++rank) {
        EXPECT_EQ(grid.CellOf(rank), cell) << ranks << " " << rank;
        EXPECT_EQ(grid.IsLast(rank), rank == grid.LastRank(cell));
      }
    }
  }
}

TEST(DurationTable, KnowsNothingBeforeItsFirstFit) {
  DurationTable table({});
  EXPECT_FALSE(table.WantsFit());
  table.Resize(2);
  table.Add(2, 1, 0.5);
  EXPECT_FALSE(table.is_known());
  EXPECT_TRUE(table.WantsFit());
  FitAll(table);
  EXPECT_TRUE(table.is_known());
  EXPECT_EQ(table.Seconds(2, 1), 0.5);
}

TEST(DurationTable, UnseenCellsTakeTheirColumnsMeanAndTheOrder) {
  DurationTable table({});
  table.Resize(3);
  table.Add(3, 1, 1);
  table.Add(3, 2, 2);
  table.Add(3, 3, 4);
  FitAll(table);
  for (uint32_t h = 1; h <= 3; ++h) {
    EXPECT_NEAR(table.Seconds(h, 1), 1, 1e-3);
    EXPECT_NEAR(table.Seconds(h, 2), 2, 1e-3);
    EXPECT_NEAR(table.Seconds(h, 3), 4, 1e-3);
  }
  table.Add(1, 1, 3);  // More is learnt of row 1: its unseen cells are no less.
  FitAll(table);
  EXPECT_NEAR(table.Seconds(1, 1), 3, 1e-3);
  EXPECT_GE(table.Seconds(1, 2), table.Seconds(1, 1));
  EXPECT_NEAR(table.Seconds(3, 1), 1, 1e-3);
}

TEST(DurationTable, ASampleThatChangesNothingWantsNoFit) {
  DurationTable table({.refit_steps = 5});
  table.Resize(1);
  table.Add(1, 1, 1);
  FitAll(table);
  table.Add(1, 1, 1.01);
  EXPECT_FALSE(table.WantsFit());
  for (int step = 0; step < 5; ++step) table.StepClosed();
  EXPECT_TRUE(table.WantsFit());
  FitAll(table);
  table.Add(1, 1, 9);
  EXPECT_TRUE(table.WantsFit());
}

TEST(DurationTable, ForgetsWithAge) {
  DurationTable table({.refit_steps = 1, .aging = 0.5});
  table.Resize(1);
  for (int i = 0; i < 100; ++i) table.Add(1, 1, 1);
  for (int step = 0; step < 20; ++step) {
    table.Add(1, 1, 5);
    table.StepClosed();
    FitAll(table);
  }
  EXPECT_NEAR(table.Seconds(1, 1), 5, 0.01);
}

// Row 4 has seen all; rows 3 and 2 have seen it often. Then all but two workers become slow.
TEST(DurationTable, AChangeIsDoubtedWhereverItConcerns) {
  DurationTable table({});
  table.Resize(4);
  for (int i = 0; i < 20; ++i) {
    for (uint32_t h = 2; h <= 4; ++h) {
      for (uint32_t k = 1; k <= 4; ++k) table.Add(h, k, 1);
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (uint32_t k = 1; k <= 4; ++k) table.Add(4, k, k <= 2 ? 1 : 5);
  }
  FitAll(table);
  EXPECT_NEAR(table.Seconds(4, 2), 1, 1e-6);
  EXPECT_NEAR(table.Seconds(4, 3), 5, 0.8);
  EXPECT_NEAR(table.Seconds(4, 4), 5, 0.8);
  table.Add(2, 3, 6);  // One try outweighs most of what is left of before.
  table.Add(2, 3, 6);
  FitAll(table);
  EXPECT_NEAR(table.Seconds(2, 2), 1, 1e-6);
  EXPECT_GT(table.Seconds(2, 3), 4);
  EXPECT_GT(table.Seconds(2, 4), 4);
}

TEST(DurationTable, WhatIsDoubtedHardlyCounts) {
  DurationTable table({});
  table.Resize(2);
  for (int i = 0; i < 20; ++i) {
    table.Add(2, 1, 1);
    table.Add(2, 2, 4);
  }
  table.DoubtAll();
  table.Add(2, 2, 2);
  FitAll(table);
  EXPECT_NEAR(table.Seconds(2, 1), 1, 1e-3);                    // Better than nothing.
  EXPECT_NEAR(table.Seconds(2, 2), (0.1 * 4 + 2) / 1.1, 1e-3);  // A tenth of a time is left.
}

TEST(DurationTable, InterruptedWorkersLeaveOneRow) {
  DurationTable table({.depends_on_last = false});
  table.Resize(2);
  table.Add(1, 1, 1);
  table.Add(2, 1, 3);
  FitAll(table);
  EXPECT_EQ(table.Seconds(1, 1), 2);
  EXPECT_EQ(table.Seconds(2, 1), 2);
}

TEST(DurationTable, GrowsByItsNeighboursAndShrinksByItsEnd) {
  DurationTable table({});
  table.Resize(2);
  table.Add(2, 1, 1);
  table.Add(2, 2, 2);
  FitAll(table);
  table.Resize(3);
  EXPECT_NEAR(table.Seconds(3, 3), 2, 1e-3);
  EXPECT_NEAR(table.Seconds(3, 1), 1, 1e-3);
  FitAll(table);
  table.Resize(1);
  EXPECT_NEAR(table.Seconds(1, 1), 1, 1e-3);
}

TEST(DurationTable, ComesBackAsItWasSaved) {
  DurationTable table({});
  table.Resize(4);
  for (uint32_t h = 1; h <= 4; ++h) {
    for (uint32_t rank = 1; rank <= h; ++rank) table.Add(h, rank, 0.1 * rank + 0.3 / h);
  }
  FitAll(table);
  DurationTable restored({});
  std::string text = table.Save();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    ASSERT_TRUE(restored.Restore(text.substr(0, end)).ok()) << text;
    text.erase(0, end + 1);
  }
  EXPECT_EQ(restored.Save(), table.Save());
  FitAll(restored);
  for (uint32_t h = 1; h <= 4; ++h) {
    for (uint32_t k = 1; k <= 4; ++k) EXPECT_EQ(restored.Seconds(h, k), table.Seconds(h, k));
  }
}

TEST(DurationTable, RefusesWhatItDidNotSave) {
  for (const char* const line :
       {"duration cell=0 sum=1 count=1", "duration cell=9999999999 sum=1 count=1",
        "durations workers=x", "duration cell=0 sum=nan count=1", "duration"}) {
    DurationTable table({});
    EXPECT_FALSE(table.Restore(line).ok()) << line;
  }
}

}  // namespace
}  // namespace paceline::sync
