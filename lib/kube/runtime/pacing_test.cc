#include "lib/kube/runtime/pacing.h"

#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ObjectKey kFirst{"team-a", "first"};
const ObjectKey kSecond{"team-a", "second"};
constexpr Pacing::Clock::time_point kStart{seconds(100)};

TEST(Pacing, TheFirstNewsIsLookedAtSoon) {
  const Pacing pacing(milliseconds(100), seconds(1));
  EXPECT_EQ(pacing.DelayAt(kFirst, kStart), milliseconds(100));
}

TEST(Pacing, LaterOnesWaitForEachOther) {
  Pacing pacing(milliseconds(100), seconds(1));
  pacing.Looked(kFirst, kStart);
  EXPECT_EQ(pacing.DelayAt(kFirst, kStart), seconds(1));
  EXPECT_EQ(pacing.DelayAt(kFirst, kStart + milliseconds(400)), milliseconds(600));
  EXPECT_EQ(pacing.DelayAt(kFirst, kStart + milliseconds(950)), milliseconds(100));
  EXPECT_EQ(pacing.DelayAt(kFirst, kStart + seconds(9)), milliseconds(100));
  EXPECT_EQ(pacing.DelayAt(kSecond, kStart), milliseconds(100));
}

TEST(Pacing, ForgetsWhoWasLookedAtLongAgo) {
  Pacing pacing(milliseconds(100), seconds(1));
  pacing.Looked(kFirst, kStart);
  pacing.Looked(kSecond, kStart + milliseconds(900));
  EXPECT_EQ(pacing.size(), 2u);
  pacing.Looked(kSecond, kStart + milliseconds(1500));
  EXPECT_EQ(pacing.size(), 1u);
  EXPECT_EQ(pacing.DelayAt(kSecond, kStart + milliseconds(1500)), seconds(1));
}

}  // namespace
}  // namespace paceline::kube
