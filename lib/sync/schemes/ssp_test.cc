#include <gmock/gmock.h>

#include "lib/sync/schemes/staleness_window.h"
#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Script;

TEST(StalenessWindow, AdmitsUpToItsWidth) {
  const StalenessWindow window(2);
  EXPECT_TRUE(window.Admits(2, 0));
  EXPECT_FALSE(window.Admits(3, 0));
  EXPECT_TRUE(window.Admits(0, 5));
}

TEST(StalenessWindow, UnboundedAdmitsAnything) {
  EXPECT_TRUE(StalenessWindow::Unbounded().Admits(UINT64_MAX, 0));
}

TEST(Ssp, OneWorkersPushMovesByItsShareOfTheBatch) {
  Script script("ASP batch=4 workers=2");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 samples=2"),
              ElementsAre("accumulate w0 #1 weight=2", "commit scale=0.5 lr=0.5",
                          "release w0 at v1 samples=2"));
}

TEST(Ssp, WithFullScaleAPushMovesByAWholeStep) {
  Script script("ASP batch=4 workers=2 update-scale=full");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 samples=2"), Contains("commit scale=0.5"));
}

TEST(Ssp, TheLeaderWaitsForTheSlowest) {
  Script script("SSP batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"), Not(Contains("release w0 at v1")));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              ElementsAre("accumulate w1 #1 weight=1", "commit scale=1 lr=0.5", "release w0 at v2",
                          "release w1 at v2"));
}

TEST(Ssp, AWiderWindowReleasesAtOnceAndANarrowerOneLetsStepsFinish) {
  Script script("SSP batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("reconfigured SSP batch=2 workers=2 staleness=1"),
              ElementsAre("release w0 at v1"));
  EXPECT_THAT(script.Feed("reconfigured SSP batch=2 workers=2 staleness=0"), IsEmpty());
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v1"),
              ElementsAre("accumulate w0 #2 weight=1", "commit scale=1 lr=0.5"));
  script.FeedAll({"push w1 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("push w1 #2 based-on=v3"), Contains("release w0 at v4"));
  // Unbounded, it is ASP by another name.
  EXPECT_THAT(script.FeedAll({"reconfigured SSP batch=2 workers=2 staleness=unbounded",
                              "push w0 #3 based-on=v4", "push w0 #4 based-on=v5",
                              "push w0 #5 based-on=v6"}),
              Contains("release w0 at v7"));
}

TEST(Ssp, TheUpdateScaleChangesFromTheNextPushOn) {
  Script script("ASP batch=4 workers=1");
  script.FeedAll({"join w0", "reconfigured ASP batch=4 workers=1 update-scale=full staleness=0"});
  EXPECT_THAT(
      script.FeedAll({"push w0 #1 based-on=v0 samples=2", "push w0 #2 based-on=v1"}),
      ElementsAre("accumulate w0 #1 weight=2", "commit scale=0.5", "release w0 at v1 samples=4",
                  "accumulate w0 #2 weight=1", "commit scale=1", "release w0 at v2 samples=4"));
}

TEST(Ssp, AJoinerBeginsAtTheSlowestsClock) {
  Script script("SSP batch=2 staleness=1");
  script.FeedAll({"join w0", "push w0 #1 based-on=v0", "push w0 #2 based-on=v1"});
  EXPECT_THAT(script.Feed("join w1"), ElementsAre("release w1 at v2"));
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v2"), Contains("release w0 at v3"));
  EXPECT_THAT(script.Feed("push w0 #4 based-on=v3"), Not(Contains("release w0 at v4")));
}

TEST(Ssp, WhoIsOutOfDataHoldsNobodyBack) {
  Script script("SSP batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("out-of-data w1"), ElementsAre("release w0 at v1"));
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v1"), Contains("release w0 at v2"));
}

TEST(Ssp, WhoFindsDataAgainDoesNotPullTheMinimumDown) {
  Script script("SSP batch=2 workers=2 staleness=1");
  script.FeedAll({"join w0", "join w1", "out-of-data w1"});
  EXPECT_THAT(
      script.Feed("push w0 #1 based-on=v0"),
      ElementsAre("accumulate w0 #1 weight=1", "commit scale=1 lr=0.5", "release w0 at v1"));
  EXPECT_THAT(script.Feed("samples-returned 1"), ElementsAre("release w1 at v1"));
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v1"), Contains("release w0 at v2"));
}

TEST(Ssp, WhoIsFirstInLineLooksForWhatComesBack) {
  Script script("SSP batch=3 workers=3 staleness=1");
  script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0", "out-of-data w1",
                  "out-of-data w0"});
  EXPECT_THAT(script.Feed("leave w2 silent"), IsEmpty());
  EXPECT_THAT(script.Feed("samples-returned 1"), ElementsAre("release w1 at v1"));
  EXPECT_THAT(script.Feed("out-of-data w1"), IsEmpty()) << "and there is nothing for the other one";
  EXPECT_THAT(script.Feed("samples-returned 1"), ElementsAre("release w0 at v1 samples=2"));
  EXPECT_THAT(script.FeedAll({"out-of-data w0", "samples-returned 3"}),
              ElementsAre("release w1 at v1", "release w0 at v1 samples=2"));
}

TEST(Ssp, AsManyLookAsTheSamplesAreFor) {
  Script script("SSP batch=8 workers=4 staleness=1");
  script.FeedAll({"join w0", "join w1", "join w2", "join w3", "out-of-data w3", "out-of-data w1",
                  "out-of-data w2"});
  EXPECT_THAT(script.Feed("samples-returned 3"),
              ElementsAre("release w3 at v0 samples=2", "release w1 at v0 samples=2"));
  EXPECT_THAT(script.FeedAll({"out-of-data w1", "leave w2 silent", "samples-returned 1"}),
              ElementsAre("release w1 at v0 samples=3"));
}

// Changed in the meantime or not: who found none stays in line.
TEST(Ssp, ALiveChangeOfSchemeForgetsNobodyInLine) {
  Script script("SSP batch=2 workers=2 staleness=1");
  script.FeedAll({"join w0", "join w1", "out-of-data w1"});
  EXPECT_THAT(script.FeedAll({"reconfigured BSP batch=2 workers=2",
                              "reconfigured KAsync batch=2 workers=2 quorum=2"}),
              IsEmpty());
  EXPECT_THAT(script.Feed("samples-returned 1"), ElementsAre("release w1 at v0"));
}

TEST(Ssp, ANonFinitePushIsDroppedAndItsWorkerTriesAgain) {
  Script script("SSP batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 non-finite"),
              ElementsAre("drop w0 #1 non-finite", "release w0 at v0"));
}

TEST(Ssp, ThreeNonFinitePushesInARowExpelAndFreeTheParked) {
  Script script("SSP batch=3 workers=3 staleness=0");
  script.FeedAll({"join w0", "join w1", "join w2", "push w1 #1 based-on=v0",
                  "push w2 #1 based-on=v0", "push w0 #1 based-on=v0 non-finite",
                  "push w0 #2 based-on=v0 non-finite"});
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v0 non-finite"),
              ElementsAre("drop w0 #3 non-finite", "expel w0 non-finite-repeatedly",
                          "release w1 at v2 samples=2", "release w2 at v2"));
}

TEST(Ssp, WhenMoreThanHalfOfTheLatestPushesAreNotFiniteItRollsBack) {
  Script script("ASP batch=3 workers=3");
  script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0 non-finite"});
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0 non-finite"),
              ElementsAre("drop w1 #1 non-finite", "roll-back non-finite"));
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"), ElementsAre("drop w2 #1 quiescing"));
}

// Two workers of three meet something of their own: the third one's push was finite on a version
// that the first one's was not.
TEST(Ssp, APushOnAVersionThatServedAnotherSaysNothingOfTheModel) {
  Script script("ASP batch=3 workers=3");
  script.FeedAll({"join w0", "join w1", "join w2", "push w0 #1 based-on=v0 non-finite",
                  "push w2 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0 non-finite"),
              ElementsAre("drop w1 #1 non-finite", "release w1 at v1"));
  script.FeedAll({"push w1 #2 based-on=v1 non-finite"});
  EXPECT_THAT(script.Feed("push w2 #2 based-on=v1 non-finite"),
              ElementsAre("drop w2 #2 non-finite", "roll-back non-finite"));
}

TEST(Ssp, ALossOfTheSlowestReleasesTheParked) {
  Script script("SSP batch=2 workers=2 staleness=0");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("leave w1 silent"), ElementsAre("release w0 at v1 samples=2"));
}

TEST(Ssp, AnAbandonedStepIsTriedAgainWithWhatFits) {
  Script script("ASP batch=64");
  script.Feed("join w0");
  EXPECT_THAT(script.Feed("abandon w0 #1 out-of-memory fit=24"),
              ElementsAre("release w0 at v0 samples=24"));
}

TEST(Ssp, AfterQuiesceNobodyIsReleased) {
  Script script("ASP batch=2 workers=2");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("quiesce suspend deadline=9"), IsEmpty());
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"), ElementsAre("drop w0 #1 quiescing"));
  EXPECT_THAT(script.FeedAll({"join w2", "leave w1 silent", "abandon w0 #2 interrupted"}),
              IsEmpty());
}

TEST(Ssp, APushOfAnUnknownWorkerIsDropped) {
  Script script("ASP");
  EXPECT_THAT(script.Feed("push w9 #1 based-on=v0"), ElementsAre("drop w9 #1 worker-left"));
}

}  // namespace
}  // namespace paceline::sync
