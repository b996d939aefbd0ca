#include "simulator/advice/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Outcome> Lives(const std::vector<double>& seconds) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(seconds.size());
  for (const double one : seconds)
    outcomes.push_back({one > 0 ? Ending::kTarget : Ending::kDiverged, one, one / 10});
  return outcomes;
}

// Seconds of each life; 0: it diverged.
TriedArm Arm(const std::string& name, const std::vector<double>& equal,
             const std::vector<double>& best) {
  return {{.name = name, .lines = {"scheme: " + name}, .policy = {}},
          false,
          {Lives(equal), Lives(best), 2}};
}

TriedArm Recorded() {
  TriedArm arm = Arm("bsp", {100, 110, 120}, {50, 55, 60});
  arm.is_recorded = true;
  return arm;
}

std::vector<std::string> NamesOf(const Advice& advice) {
  std::vector<std::string> names;
  for (const ArmAdvice& arm : advice.arms) names.push_back(arm.name);
  return names;
}

TEST(Judge, GainsAreSeedBySeedWithTheirRange) {
  const Advice advice = Judge({Recorded(), Arm("asp", {50, 22, 40}, {50, 44, 40})}, false);
  const ArmAdvice& asp = advice.arms.front();
  ASSERT_TRUE(asp.equal.gain && asp.best.gain);
  EXPECT_EQ(asp.equal.gain->low, 2);
  EXPECT_EQ(asp.equal.gain->median, 3);
  EXPECT_EQ(asp.equal.gain->high, 5);
  EXPECT_EQ(asp.best.gain->low, 1);
  EXPECT_EQ(asp.best.gain->high, 1.5);
  EXPECT_EQ(asp.SureGain()->median, 1.25);
}

// Whose gain is a larger rate in disguise loses it where each has its best.
TEST(Judge, OnlyWhatIsFasterAtBothRatesIsAdvised) {
  const TriedArm disguised = Arm("full", {20, 20, 20}, {50, 55, 60});
  const TriedArm honest = Arm("lbbsp", {60, 66, 70}, {30, 33, 35});
  const Advice advice = Judge({Recorded(), disguised, honest}, false);
  EXPECT_THAT(NamesOf(advice), ElementsAre("lbbsp", "bsp", "full"));
  ASSERT_TRUE(advice.best);
  EXPECT_EQ(advice.arms[*advice.best].name, "lbbsp");
}

TEST(Judge, WithinTheRangeOfTheSeedsTheRecordedSchemeIsTheBest) {
  const Advice advice = Judge({Recorded(), Arm("asp", {50, 55, 121}, {20, 20, 20})}, false);
  EXPECT_FALSE(advice.best);
  EXPECT_TRUE(advice.Recorded().is_recorded);
  EXPECT_FALSE(Judge({Recorded(), Arm("asp", {50, 55, 60}, {20, 20, 61})}, false).best);
}

TEST(Judge, OnAModelTheMedianCountsWhereEachHasItsBest) {
  const TriedArm edge = Arm("backup", {50, 55, 60}, {25, 28, 61});
  EXPECT_FALSE(Judge({Recorded(), edge}, false).best);
  const Advice advice = Judge({Recorded(), edge}, false, AtBest::kMedian);
  ASSERT_TRUE(advice.best);
  EXPECT_EQ(advice.arms[*advice.best].name, "backup");
  // Neither a median below there, nor one seed that is slower at the job's rate.
  EXPECT_FALSE(
      Judge({Recorded(), Arm("a", {50, 55, 60}, {25, 55, 61})}, false, AtBest::kMedian).best);
  EXPECT_FALSE(
      Judge({Recorded(), Arm("a", {50, 55, 121}, {20, 20, 20})}, false, AtBest::kMedian).best);
}

TEST(Judge, AGainSmallerThanWhatStepsAreOffIsNone) {
  EXPECT_FALSE(Judge({Recorded(), Arm("dbw", {97, 107, 117}, {40, 44, 48})}, false).best);
  EXPECT_TRUE(Judge({Recorded(), Arm("dbw", {90, 99, 108}, {40, 44, 48})}, false).best);
}

TEST(Judge, WithMomentumMixedVersionsAreToldButNotAdvised) {
  TriedArm fastest = Arm("asp", {10, 11, 12}, {5, 5, 6});
  fastest.candidate.mixes_versions = true;
  const TriedArm second = Arm("lbbsp", {60, 66, 70}, {30, 33, 35});
  const Advice with = Judge({Recorded(), fastest, second}, true);
  EXPECT_THAT(NamesOf(with), ElementsAre("asp", "lbbsp", "bsp"));
  EXPECT_EQ(with.arms[*with.best].name, "lbbsp");
  EXPECT_TRUE(with.arms.front().is_risky);
  const Advice without = Judge({Recorded(), fastest, second}, false);
  EXPECT_EQ(without.arms[*without.best].name, "asp");
}

TEST(Judge, WhoFailsOnceHasNoGain) {
  const Advice advice = Judge({Recorded(), Arm("asp", {10, 0, 10}, {5, 5, 5})}, false);
  EXPECT_THAT(NamesOf(advice), ElementsAre("bsp", "asp"));
  EXPECT_EQ(advice.arms.back().equal.failed, 1u);
  EXPECT_FALSE(advice.arms.back().equal.gain);
  EXPECT_FALSE(advice.best);
}

// Where workers do not hinder each other.
TEST(Judge, WhatIsFasterOnlySinceWorkersHinderedEachOtherIsRefused) {
  const TriedArm hindered = Arm("backup", {50, 55, 60}, {25, 28, 30});
  const TriedArm own = Arm("lbbsp", {60, 66, 70}, {30, 33, 35});
  const Advice still = Judge({Recorded(), Arm("backup", {100, 108, 125}, {50, 55, 60}), own}, false,
                             AtBest::kMedian);
  const Advice advice = Judge({Recorded(), hindered, own}, false, AtBest::kEverySeed, &still);
  EXPECT_THAT(NamesOf(advice), ElementsAre("backup", "lbbsp", "bsp"));
  ASSERT_TRUE(advice.best);
  EXPECT_EQ(advice.arms[*advice.best].name, "lbbsp");
  EXPECT_THAT(advice.as_good, IsEmpty());
  ASSERT_NE(advice.Refused(), nullptr);
  EXPECT_EQ(advice.Refused()->name, "backup");
  EXPECT_EQ(advice.Refused()->still->median, 1);
  EXPECT_EQ(Judge({Recorded(), hindered, own}, false).arms[0].still, std::nullopt);

  const Advice none = Judge({Recorded(), hindered}, false, AtBest::kEverySeed, &still);
  EXPECT_FALSE(none.best);
  EXPECT_EQ(none.Refused()->name, "backup");
}

TEST(Judge, OnlyWhatComesBeforeTheBestIsToldAsRefused) {
  const TriedArm fast = Arm("a", {30, 33, 35}, {15, 16, 17});
  const TriedArm slow = Arm("b", {60, 66, 70}, {30, 33, 35});
  const Advice still = Judge({Recorded(), fast, Arm("b", {100, 110, 120}, {50, 55, 60})}, false);
  const Advice advice = Judge({Recorded(), fast, slow}, false, AtBest::kEverySeed, &still);
  EXPECT_EQ(advice.arms[*advice.best].name, "a");
  EXPECT_TRUE(advice.Find("b")->is_refused);
  EXPECT_EQ(advice.Refused(), nullptr);
  // Nor what was not faster in the first place, or is not advised anyway.
  EXPECT_EQ(
      Judge({Recorded(), Arm("c", {99, 108, 118}, {50, 55, 60})}, false, AtBest::kEverySeed, &still)
          .Refused(),
      nullptr);
  TriedArm risky = slow;
  risky.candidate.mixes_versions = true;
  EXPECT_EQ(Judge({Recorded(), risky}, true, AtBest::kEverySeed, &still).Refused(), nullptr);
}

TEST(Judge, WhatWasNotTriedWhereWorkersDoNotHinderEachOtherIsRefused) {
  const TriedArm arm = Arm("a", {50, 55, 60}, {25, 28, 30});
  const Advice still = Judge({Recorded()}, false);
  const Advice advice = Judge({Recorded(), arm}, false, AtBest::kEverySeed, &still);
  EXPECT_FALSE(advice.best);
  EXPECT_EQ(advice.Refused()->still, std::nullopt);
}

TEST(Judge, ThoseThatCannotBeToldApartAreNamed) {
  const Advice advice =
      Judge({Recorded(), Arm("a", {50, 55, 60}, {20, 22, 24}), Arm("b", {52, 55, 62}, {20, 22, 24}),
             Arm("c", {90, 99, 100}, {20, 22, 24})},
            false);
  EXPECT_EQ(advice.arms[*advice.best].name, "a");
  EXPECT_THAT(advice.as_good, ElementsAre("b"));
  EXPECT_THAT(Judge({Recorded()}, false).as_good, IsEmpty());
}

}  // namespace
}  // namespace paceline::simulator
