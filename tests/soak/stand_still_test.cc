#include "tests/soak/stand_still.h"

#include <gtest/gtest.h>

namespace paceline::soak {
namespace {

Place At(uint64_t step, uint64_t start = 1, uint64_t counter = 0) { return {start, counter, step}; }

TEST(StandStill, MeasuresBetweenSteps) {
  StandStill still(10, 0);
  still.Saw(1, At(1));
  still.Saw(2, At(2));
  still.Saw(4, At(2));
  still.Saw(5, std::nullopt);
  still.Saw(6, At(5));
  EXPECT_EQ(still.longest_seconds(), 4);
  EXPECT_EQ(still.TakeSteps(), 4u) << "the first sight of a generation is no step";
  EXPECT_EQ(still.TakeSteps(), 0u);
}

TEST(StandStill, AnotherGenerationIsNoStepAndItsFirstStepIsOne) {
  StandStill still(10, 0);
  still.Saw(0, At(99));
  still.Saw(1, At(100));
  still.Saw(3, At(0, 1, 1));
  EXPECT_EQ(still.standing_seconds(5), 4);
  still.Saw(6, At(1, 1, 1));
  EXPECT_EQ(still.standing_seconds(6), 0);
  still.Saw(7, At(500, 2, 0));
  EXPECT_EQ(still.standing_seconds(7), 1) << "a later checkpoint is no step either";
}

TEST(StandStill, HangsWithoutAStepAndWithoutAFault) {
  StandStill still(10, 0);
  still.Saw(0, At(0));
  still.Saw(1, At(1));
  EXPECT_FALSE(still.IsHung(10.9));
  EXPECT_TRUE(still.IsHung(11));
  still.FaultBegan();
  still.FaultBegan();
  EXPECT_FALSE(still.IsHung(50));
  still.FaultEnded(50);
  EXPECT_FALSE(still.IsHung(70)) << "another is at work";
  still.FaultEnded(70);
  EXPECT_FALSE(still.IsHung(79.9));
  EXPECT_TRUE(still.IsHung(80));
  still.Excuse(80);
  EXPECT_FALSE(still.IsHung(89.9));
  still.Saw(89.9, At(2));
  EXPECT_FALSE(still.IsHung(99.8));
}

TEST(StandStill, LongestOfAWhileIsForgottenOnceTaken) {
  StandStill still(10, 0);
  still.Saw(0, At(0));
  still.Saw(5, At(1));
  EXPECT_EQ(still.TakeLongest(), 5);
  still.Saw(7, At(2));
  EXPECT_EQ(still.TakeLongest(), 2);
  EXPECT_EQ(still.longest_seconds(), 5);
}

}  // namespace
}  // namespace paceline::soak
