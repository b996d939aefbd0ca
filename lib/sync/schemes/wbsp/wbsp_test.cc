#include <gmock/gmock.h>

#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Script;

constexpr const char* kBasic = "WBSP batch=2 workers=2 basic";
constexpr const char* kOverlapped = "WBSP batch=2 workers=2";

TEST(Wbsp, FastWorkersGoOnFromTheirOwnCopyUntilTheSlowestHasPushed) {
  Script script(kBasic);
  EXPECT_THAT(script.FeedAll({"join w0", "join w1"}),
              ElementsAre("release w0 at v0 exact pacing=keep-going",
                          "release w1 at v0 exact pacing=keep-going"));
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"),
              ElementsAre("accumulate w0 #1 weight=0.5", "continue w0 pacing=keep-going"));
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v0"),
              ElementsAre("accumulate w0 #2 weight=0.5", "continue w0 pacing=keep-going"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              ElementsAre("accumulate w1 #1 weight=0.5", "commit scale=1 deltas",
                          "release w1 at v1 exact pacing=keep-going"));
  // Its step was under way: it counts for the running round, and the worker goes over to its
  // version.
  EXPECT_THAT(
      script.FeedAll({"committed v1", "push w0 #3 based-on=v0"}),
      ElementsAre("accumulate w0 #3 weight=0.5", "release w0 at v1 exact pacing=keep-going"));
}

// w0 made two steps in the first round and w1 one: a step of w0 counts half as much from then on.
TEST(Wbsp, NormalisedStepsWeighByTheRoundsBefore) {
  Script script(std::string(kBasic) + " normalised");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v0"), Contains("accumulate w0 #2 weight=0.5"));
  script.FeedAll({"push w1 #1 based-on=v0", "committed v1"});
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v0"), Contains("accumulate w0 #3 weight=0.375"));
  EXPECT_THAT(script.Feed("push w1 #2 based-on=v1"), Contains("accumulate w1 #2 weight=0.75"));
}

TEST(Wbsp, OverlappedWorkersHoldASpareLeaseAndAreOfferedTheVersion) {
  Script script(kOverlapped);
  EXPECT_THAT(
      script.FeedAll({"join w0", "join w1"}),
      ElementsAre("release w0 at v0 exact pacing=overlapped", "continue w0 pacing=overlapped",
                  "release w1 at v0 exact pacing=overlapped", "continue w1 pacing=overlapped"));
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"), Contains("continue w0 pacing=overlapped"));
  // No lease before the version is there: who has none left would go on from the old one.
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              ElementsAre("accumulate w1 #1 weight=0.5", "commit scale=1 deltas"));
  EXPECT_THAT(script.Feed("committed v1"),
              ElementsAre("offer w0 v1", "offer w1 v1", "continue w1 pacing=overlapped"));
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v0 steps=2"),
              ElementsAre("accumulate w0 #2 weight=0.5", "continue w0 pacing=overlapped",
                          "continue w0 pacing=overlapped"));
}

TEST(Wbsp, LatePushesCanBeDroppedAndOlderOnesAlwaysAre) {
  Script script("WBSP batch=2 workers=2 basic late-push=drop");
  script.FeedAll(
      {"join w0", "join w1", "push w0 #1 based-on=v0", "push w1 #1 based-on=v0", "committed v1"});
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v0"),
              ElementsAre("drop w0 #2 superseded", "release w0 at v1 exact pacing=keep-going"));

  Script folding(kBasic);
  folding.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0", "push w1 #1 based-on=v0",
                   "committed v1", "push w0 #2 based-on=v0", "push w1 #2 based-on=v1",
                   "committed v2", "push w0 #3 based-on=v1", "push w1 #3 based-on=v2",
                   "committed v3"});
  EXPECT_THAT(folding.Feed("push w0 #4 based-on=v1"), Contains("drop w0 #4 too-stale"));
}

TEST(Wbsp, TheLossOfTheOneWaitedForEndsTheRound) {
  Script script(kBasic);
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("leave w1 silent"), ElementsAre("commit scale=1 deltas"));
}

TEST(Wbsp, AJoinerWorksAtOnceAndIsWaitedForFromTheNextRoundOn) {
  Script script(kBasic);
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("join w2"), ElementsAre("release w2 at v0 exact pacing=keep-going"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), Contains("commit scale=1 deltas"));
  script.FeedAll({"committed v1", "push w0 #2 based-on=v0"});
  EXPECT_THAT(script.Feed("push w1 #2 based-on=v1"), Not(Contains("commit scale=1 deltas")));
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"),
              ElementsAre(::testing::StartsWith("accumulate w2 #1 weight=0.33"),
                          "commit scale=1 deltas", "release w2 at v2 exact pacing=keep-going"));
}

TEST(Wbsp, WhatIsNotFiniteIsDroppedAndItsWorkerReleasedAnew) {
  Script script("WBSP batch=3 workers=3 basic");
  script.FeedAll({"join w0", "join w1", "join w2"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 non-finite"),
              ElementsAre("drop w0 #1 non-finite", "release w0 at v0 exact pacing=keep-going"));
  script.Feed("push w0 #2 based-on=v0 non-finite");
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v0 non-finite"),
              ElementsAre("drop w0 #3 non-finite", "expel w0 non-finite-repeatedly"));
  EXPECT_THAT(
      script.FeedAll({"push w1 #1 based-on=v0 non-finite", "push w2 #1 based-on=v0 non-finite"}),
      Contains("roll-back non-finite"));
}

TEST(Wbsp, WhoIsOutOfDataHoldsNobodyBack) {
  Script script(kBasic);
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("out-of-data w1"), ElementsAre("commit scale=1 deltas"));
  EXPECT_THAT(script.Feed("samples-returned 1"),
              ElementsAre("release w1 at v1 exact pacing=keep-going"));
}

TEST(Wbsp, QuiescingPublishesTheSumAndDropsTheRest) {
  Script script(kBasic);
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("quiesce scheme-change deadline=9"),
              ElementsAre("commit scale=1 deltas"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), ElementsAre("drop w1 #1 quiescing"));
  EXPECT_THAT(script.Feed("join w2"), IsEmpty());
}

// Not when another one could be elected in the place of the one that let time run out.
TEST(Wbsp, AtItsDeadlineADesignatedRoundEnds) {
  Script script("WBSP batch=3 workers=3 trigger=designated round-timeout=2 basic");
  script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0 compute=1",
                  "push w1 #1 based-on=v0 compute=2"});
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0 compute=3"),
              Contains("commit scale=1 deltas"));  // At 5 s, after 3.
  script.FeedAll(
      {"committed v1", "push w0 #2 based-on=v1 compute=1", "spare budget=0", "spare budget=0"});
  EXPECT_THAT(script.Feed("deadline"), IsEmpty());  // At 10 s.
  EXPECT_THAT(script.Feed("deadline"), Contains("commit scale=1 deltas"));
}

}  // namespace
}  // namespace paceline::sync
