#include <map>
#include <string>

#include <gmock/gmock.h>

#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Script;
using ::testing::StartsWith;

constexpr char kRelease0[] = "release w0 at v0 samples=2 pacing=eager-pull";
constexpr char kContinue0[] = "continue w0 samples=2 pacing=eager-pull";

std::map<std::string, double> Told(const Policy& policy) {
  std::vector<Figure> figures;
  policy.Tell(figures);
  std::map<std::string, double> told;
  for (const Figure& figure : figures) {
    const std::string label = figure.label.empty() ? "" : "{" + figure.label + "}";
    told[std::string(figure.kind->name) + label] = figure.value;
  }
  return told;
}

TEST(PsPlus, AtFirstAWorkerGetsAVersionAndALeaseMoreThanItComputes) {
  Script script("PSPlus batch=2 staleness=unbounded");
  EXPECT_THAT(script.Feed("join w0"), ElementsAre(kRelease0, kContinue0));
}

TEST(PsPlus, TellsWorkersOfTheDepth) {
  Script script("PSPlus batch=2 staleness=unbounded depth=2");
  EXPECT_THAT(script.Feed("join w0"),
              ElementsAre("release w0 at v0 samples=2 pacing=eager-pull depth=2",
                          "continue w0 samples=2 pacing=eager-pull depth=2"));
}

TEST(PsPlus, NobodyIsReleasedBeforeAllHaveJoined) {
  Script script("PSPlus batch=4 workers=2");
  EXPECT_THAT(script.Feed("join w0"), IsEmpty());
  EXPECT_THAT(script.Feed("join w1"),
              ElementsAre(kRelease0, kContinue0, "release w1 at v0 samples=2 pacing=eager-pull",
                          "continue w1 samples=2 pacing=eager-pull"));
}

TEST(PsPlus, APushIsACommitOfDeltasAndItsAnswerIncludesIt) {
  Script script("PSPlus batch=4 workers=2");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 samples=2"),
              ElementsAre("accumulate w0 #1 weight=0.5", "commit scale=1 deltas",
                          "release w0 at v1 includes=#1 samples=2 pacing=eager-pull"));
}

TEST(PsPlus, WithFullScaleAPushMovesByAllOfIt) {
  Script script("PSPlus batch=4 workers=2 update-scale=full");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 samples=2"),
              Contains("accumulate w0 #1 weight=1"));
}

// What was missed since the last release is known before the push of the step in flight is sent.
TEST(PsPlus, WhoMissedMoreThanEqualWorkersWouldPushesLess) {
  Script script("PSPlus batch=2 workers=2 staleness=unbounded");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0", "push w0 #2 based-on=v0",
                  "push w0 #3 based-on=v1", "push w0 #4 based-on=v2"});
  // Four updates of w0 where a worker as fast would have made one.
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              Contains("release w1 at v5 includes=#1 lr=0.25 pacing=eager-pull"));
}

TEST(PsPlus, ModulationNoneLeavesItAsItIs) {
  Script script("PSPlus batch=2 workers=2 staleness=unbounded modulation=none");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0", "push w0 #2 based-on=v0",
                  "push w0 #3 based-on=v1", "push w0 #4 based-on=v2"});
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              Contains("release w1 at v5 includes=#1 pacing=eager-pull"));
}

TEST(PsPlus, BeyondTheBoundTheAnswerIsParkedThePushIsNot) {
  Script script("PSPlus batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"),
              ElementsAre("accumulate w0 #1 weight=0.5", "commit scale=1 deltas"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              ElementsAre("accumulate w1 #1 weight=0.5", "commit scale=1 deltas",
                          "release w0 at v2 includes=#1 pacing=eager-pull",
                          "release w1 at v2 includes=#1 pacing=eager-pull"));
}

TEST(PsPlus, ALossReleasesTheParked) {
  Script script("PSPlus batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("leave w1 silent"),
              ElementsAre("release w0 at v1 includes=#1 samples=2 pacing=eager-pull"));
}

TEST(PsPlus, AJoinerBeginsAtTheSlowestsClockAtOnce) {
  Script script("PSPlus batch=2 staleness=1");
  script.FeedAll({"join w0", "push w0 #1 based-on=v0", "push w0 #2 based-on=v0"});
  EXPECT_THAT(script.Feed("join w1"),
              ElementsAre("release w1 at v2 pacing=eager-pull", "continue w1 pacing=eager-pull"));
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v1"), Contains(StartsWith("release w0 ")));
  EXPECT_THAT(script.Feed("push w0 #4 based-on=v2"), Not(Contains(StartsWith("release w0 "))));
}

TEST(PsPlus, ANonFinitePushIsAnsweredAtOnceAndItsClockStandsStill) {
  Script script("PSPlus batch=3 workers=3 staleness=0");
  script.FeedAll({"join w0", "join w1", "join w2", "push w1 #1 based-on=v0"});
  EXPECT_THAT(
      script.Feed("push w0 #1 based-on=v0 non-finite"),
      ElementsAre("drop w0 #1 non-finite", "release w0 at v1 includes=#1 pacing=eager-pull"));
}

TEST(PsPlus, WhoPushesNoNumbersThreeTimesInARowIsExpelled) {
  Script script("PSPlus batch=3 workers=3");
  script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0 non-finite",
                  "push w0 #2 based-on=v0 non-finite"});
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v0 non-finite"),
              ElementsAre("drop w0 #3 non-finite", "expel w0 non-finite-repeatedly"));
}

TEST(PsPlus, WhenMostLatestPushesAreNoNumbersItRollsBack) {
  Script script("PSPlus batch=3 workers=3");
  script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0 non-finite"});
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0 non-finite"),
              ElementsAre("drop w1 #1 non-finite", "roll-back non-finite"));
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"), ElementsAre("drop w2 #1 quiescing"));
}

TEST(PsPlus, WhoIsOutOfDataHoldsNobodyBackOnceItOwesNoPush) {
  Script script("PSPlus batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  // Its second lease found nothing: it still computes on the first.
  EXPECT_THAT(script.Feed("out-of-data w1"), IsEmpty());
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              ElementsAre("accumulate w1 #1 weight=0.5", "commit scale=1 deltas",
                          "release w0 at v2 includes=#1 pacing=eager-pull"));
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v0"), Contains(StartsWith("release w0 ")));
}

TEST(PsPlus, WhomTheWindowStopsStandsInLineOnceNobodyHasData) {
  Script script("PSPlus batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1", "push w1 #1 based-on=v0", "out-of-data w1"});
  EXPECT_THAT(script.Feed("samples-returned 2"), IsEmpty());
  script.FeedAll({"out-of-data w0", "out-of-data w0"});
  EXPECT_THAT(script.Feed("samples-returned 1"), Contains(StartsWith("release w0 ")));
  script.FeedAll({"out-of-data w0", "out-of-data w0"});
  EXPECT_THAT(script.Feed("samples-returned 1"),
              Contains("release w1 at v1 includes=#1 pacing=eager-pull"));
}

// A release that found nothing may not have reached it: what follows is one, not a lease alone.
TEST(PsPlus, WhoseReleaseFoundNoSamplesIsReleasedAgain) {
  Script script("PSPlus batch=2 workers=2");
  script.FeedAll({"join w0", "join w1", "out-of-data w0"});
  script.Feed("push w1 #1 based-on=v0");
  EXPECT_THAT(script.Feed("samples-returned 1"), ElementsAre("release w0 at v1 pacing=eager-pull"));
}

TEST(PsPlus, AnAbandonedStepIsReplacedByASmallerOne) {
  Script script("PSPlus batch=8");
  script.FeedAll({"join w0"});
  EXPECT_THAT(script.Feed("abandon w0 #1 out-of-memory fit=4"),
              ElementsAre("continue w0 samples=4 pacing=eager-pull"));
}

TEST(PsPlus, StoppingDropsWhatComesAndReleasesNobody) {
  Script script("PSPlus batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("quiesce stop deadline=50"), IsEmpty());
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), ElementsAre("drop w1 #1 quiescing"));
}

TEST(PsPlus, AWiderWindowAnswersAtOnceAndANarrowerOneLater) {
  Script script("PSPlus batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"), Not(Contains(StartsWith("release"))));
  EXPECT_THAT(script.Feed("reconfigured PSPlus batch=2 workers=2 staleness=1"),
              ElementsAre(StartsWith("release w0 at v1 includes=#1")));
  EXPECT_THAT(script.Feed("reconfigured PSPlus batch=2 workers=2 staleness=0"), IsEmpty());
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v0"), Not(Contains(StartsWith("release"))));
}

TEST(PsPlus, APushOfNobodyOrOfOneWhoOwesNoneIsDropped) {
  Script script("PSPlus batch=1");
  script.FeedAll({"join w0", "out-of-data w0", "out-of-data w0"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"), Contains("drop w0 #1 superseded"));
  EXPECT_THAT(script.Feed("push w7 #1 based-on=v0"), Contains("drop w7 #1 worker-left"));
}

TEST(PsPlus, TellsScaleParkedAndGap) {
  const auto policy = Script::Make("PSPlus batch=2 workers=2 staleness=0");
  std::vector<Decision> decisions;
  policy->Observe(WorkerJoined{WorkerId(0)}, Time{}, decisions);
  policy->Observe(WorkerJoined{WorkerId(1)}, Time{}, decisions);
  policy->Observe(
      PushArrived{.worker = WorkerId(0), .sequence = Sequence(1), .based_on = Version(0)}, Time{},
      decisions);
  EXPECT_THAT(Told(*policy),
              (std::map<std::string, double>{{"paceline_psplus_learning_rate_scale{w0}", 1},
                                             {"paceline_psplus_learning_rate_scale{w1}", 1},
                                             {"paceline_psplus_parked_replies", 1},
                                             {"paceline_psplus_progress_gap", 1}}));
}

}  // namespace
}  // namespace paceline::sync
