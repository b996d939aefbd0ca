#include "lib/coordination/ledgers/starved.h"

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

constexpr WorkerId kFirst(1), kSecond(2);

TEST(Starved, NobodyIsNoNews) {
  Starved starved;
  starved.MayFind();
  starved.FoundSome(kFirst);
  EXPECT_FALSE(starved.TakeNews());
}

TEST(Starved, WhoFoundNoneIsToldOfAChangeOnce) {
  Starved starved;
  starved.FoundNone(kFirst);
  EXPECT_FALSE(starved.TakeNews()) << "nothing has changed since";
  starved.MayFind();
  EXPECT_TRUE(starved.TakeNews());
  EXPECT_FALSE(starved.TakeNews());
}

TEST(Starved, ThereIsHopeForWhoIsYetToHearOfAChange) {
  const auto anybody = [](WorkerId) { return true; };
  const auto is_first = [](WorkerId worker) { return worker == kFirst; };
  Starved starved;
  starved.FoundNone(kFirst);
  EXPECT_FALSE(starved.HasHope(anybody)) << "nothing has changed since";
  starved.MayFind();
  EXPECT_TRUE(starved.HasHope(is_first));
  starved.FoundNone(kFirst);
  starved.FoundNone(kSecond);
  starved.MayFind();
  starved.FoundNone(kFirst);
  EXPECT_FALSE(starved.HasHope(is_first));
  EXPECT_TRUE(starved.HasHope(anybody));
  ASSERT_TRUE(starved.TakeNews());
  EXPECT_FALSE(starved.HasHope(anybody)) << "somebody has been told";
}

TEST(Starved, WhatTheFirstLeavesIsNewsForTheSecond) {
  Starved starved;
  starved.FoundNone(kFirst);
  starved.FoundNone(kSecond);
  starved.MayFind();
  ASSERT_TRUE(starved.TakeNews());
  starved.FoundSome(kFirst);
  EXPECT_TRUE(starved.TakeNews());
}

// Samples may be for one and not for another; after both have looked there is nobody left to ask.
TEST(Starved, WhatTheFirstMayNotHaveIsNewsForTheSecondAndNotForEver) {
  Starved starved;
  starved.FoundNone(kFirst);
  starved.FoundNone(kSecond);
  starved.MayFind();
  ASSERT_TRUE(starved.TakeNews());
  starved.FoundNone(kFirst);
  EXPECT_TRUE(starved.TakeNews());
  starved.FoundNone(kSecond);
  EXPECT_FALSE(starved.TakeNews());
}

// The second one might find some, and does not look: it waits for something else.
TEST(Starved, WhatTheFirstIsRefusedAgainAndAgainIsNoNews) {
  Starved starved;
  starved.FoundNone(kFirst);
  starved.FoundNone(kSecond);
  starved.MayFind();
  int told = 0;
  while (starved.TakeNews() && told < 10) {
    ++told;
    starved.FoundNone(kFirst);
  }
  EXPECT_EQ(told, 3);
}

TEST(Starved, WhoIsGoneIsNoNews) {
  Starved starved;
  starved.FoundNone(kFirst);
  starved.MayFind();
  starved.Forget(kFirst);
  EXPECT_FALSE(starved.TakeNews());
  EXPECT_EQ(starved.Describe(), "");
}

}  // namespace
}  // namespace paceline::coordination
