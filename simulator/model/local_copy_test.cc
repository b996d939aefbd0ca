#include "simulator/model/local_copy.h"

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

TEST(LocalCopy, CutsWhatIsNotPushedYet) {
  LocalCopy copy(0.5);
  copy.Begin({1, 2});
  copy.Step({2, 0}, 0.25);
  copy.Step({0, 4}, 0.25);  // Momentum moves the first one by half of what it did.
  EXPECT_EQ(copy.values(), (Values{1 - 0.5 - 0.25, 2 - 1}));
  EXPECT_EQ(copy.Cut(), (Values{-0.75, -1}));
  EXPECT_EQ(copy.values(), (Values{0.25, 1}));
  EXPECT_EQ(copy.Cut(), (Values{0, 0}));
}

TEST(LocalCopy, KeepsOfItselfWhatItPushes) {
  LocalCopy copy(0);
  copy.Begin({1});
  copy.Step({4}, 0.25);
  EXPECT_EQ(copy.Cut(0.25), Values{-0.25});
  EXPECT_EQ(copy.values(), Values{0.75});
}

TEST(LocalCopy, WhatIsNotPushedGoesOnTopOfAVersion) {
  LocalCopy copy(0);
  copy.Begin({1});
  copy.Step({4}, 0.25);
  copy.Rebase({5});
  EXPECT_EQ(copy.values(), Values{4});
  EXPECT_EQ(copy.Cut(), Values{-1});
  copy.Begin({7});
  EXPECT_EQ(copy.values(), Values{7});
  EXPECT_EQ(copy.Cut(), Values{0});
}

TEST(LocalCopy, ForgetsItsMomentum) {
  LocalCopy copy(0.5);
  copy.Begin({0});
  copy.Step({-1}, 1);
  copy.Forget();
  copy.Step({-1}, 1);
  EXPECT_EQ(copy.values(), Values{2});
}

}  // namespace
}  // namespace paceline::simulator
