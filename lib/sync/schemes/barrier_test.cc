#include <gmock/gmock.h>

#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::Script;
using ::testing::StartsWith;

const std::vector<std::string> kThreeJoin = {"join w0", "join w1", "join w2"};

TEST(Barrier, NobodyIsReleasedBeforeTheExpectedWorkersHaveJoined) {
  Script script("BSP batch=4 workers=2");
  EXPECT_THAT(script.Feed("join w1"), IsEmpty());
  EXPECT_THAT(script.Feed("join w0"),
              ElementsAre("release w0 at v0 exact samples=2", "release w1 at v0 exact samples=2"));
}

TEST(Barrier, TheRemainderOfTheBatchGoesToTheFirstWorkers) {
  Script script("BSP batch=8 workers=3");
  EXPECT_THAT(script.FeedAll(kThreeJoin),
              ElementsAre("release w0 at v0 exact samples=3", "release w1 at v0 exact samples=3",
                          "release w2 at v0 exact samples=2"));
}

TEST(Barrier, ABatchSmallerThanTheWorkersGivesEachOneSample) {
  Script script("BSP batch=1 workers=2");
  EXPECT_THAT(script.FeedAll({"join w0", "join w1"}),
              ElementsAre("release w0 at v0 exact", "release w1 at v0 exact"));
}

TEST(Barrier, TheMeanIsWeightedBySamples) {
  Script script("BSP batch=4 workers=2");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 samples=3"),
              ElementsAre("accumulate w0 #1 weight=3"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0 samples=1"),
              ElementsAre("accumulate w1 #1 weight=1", "commit scale=0.25",
                          "release w0 at v1 exact samples=2", "release w1 at v1 exact samples=2"));
}

TEST(Barrier, TheFirstVersionMayBeAnyOne) {
  Script script("BSP first-version=v7");
  EXPECT_THAT(script.Feed("join w0"), ElementsAre("release w0 at v7 exact"));
}

TEST(Barrier, MoreBackupsThanWorkersLeaveAStepOfOne) {
  Script script("BackupWorkers batch=2 workers=2 backup=5");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              ElementsAre("accumulate w1 #1 weight=1", "commit scale=1", "release w1 at v1 exact",
                          "offer w0 v1"));
}

TEST(Barrier, AContributorThatLeavesStillCounts) {
  Script script("BSP batch=3 workers=3");
  script.FeedAll(kThreeJoin);
  script.FeedAll({"push w0 #1 based-on=v0", "leave w0 silent"});
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), ElementsAre("accumulate w1 #1 weight=1"));
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"), Contains("commit scale=0.3333333333333333"));
}

TEST(Barrier, WithDeterminismTheStagedPushOfALostWorkerIsDropped) {
  Script script("BSP batch=2 workers=2 deterministic");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("leave w0 disconnected"), ElementsAre("drop w0 #1 worker-left"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
              ElementsAre("accumulate w1 #1 weight=1", "commit scale=1",
                          "release w1 at v1 exact samples=2"));
}

TEST(Barrier, ALossOfTheLastBusyWorkerClosesTheStep) {
  Script script("BSP batch=2 workers=2");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("leave w1 silent"),
              ElementsAre("commit scale=1", "release w0 at v1 exact samples=2"));
}

TEST(Barrier, AJoinDuringAStepWaitsForItsCommit) {
  Script script("BSP batch=2");
  script.Feed("join w0");
  EXPECT_THAT(script.Feed("join w1"), IsEmpty());
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 samples=2"),
              ElementsAre("accumulate w0 #1 weight=2", "commit scale=0.5", "release w0 at v1 exact",
                          "release w1 at v1 exact"));
}

TEST(Barrier, AJoinWhenNobodyIsAtWorkBeginsAtOnce) {
  Script script("BSP");
  script.FeedAll({"join w0", "leave w0 silent"});
  EXPECT_THAT(script.Feed("join w1"), ElementsAre("release w1 at v0 exact"));
}

TEST(Barrier, AWorkerThatJoinsTwiceHasLeftInBetween) {
  Script script("BSP batch=2 workers=2 deterministic");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("join w0"), ElementsAre("drop w0 #1 worker-left"));
}

TEST(Barrier, ABackupIsSpentOnAPushThatIsNotFinite) {
  Script script("BackupWorkers batch=3 workers=3 backup=1");
  script.FeedAll(kThreeJoin);
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 non-finite"),
              ElementsAre("drop w0 #1 non-finite"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), ElementsAre("accumulate w1 #1 weight=1"));
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"), Contains("commit scale=0.5"));
}

TEST(Barrier, WhenMoreThanHalfAreNotFiniteItRollsBackAndStops) {
  Script script("BSP batch=3 workers=3");
  script.FeedAll(kThreeJoin);
  script.Feed("push w0 #1 based-on=v0 non-finite");
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0 non-finite"),
              ElementsAre("drop w1 #1 non-finite", "roll-back non-finite"));
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"), ElementsAre("drop w2 #1 quiescing"));
}

TEST(Barrier, HalfNotFiniteIsNotMoreThanHalf) {
  Script script("BSP batch=2 workers=2");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 non-finite"),
              ElementsAre("drop w0 #1 non-finite"));
}

TEST(Barrier, AStepWithNothingFiniteBeginsAnewOnTheSameVersion) {
  Script script("BSP batch=3 workers=3");
  script.FeedAll(kThreeJoin);
  script.FeedAll({"out-of-data w1", "out-of-data w2"});
  EXPECT_THAT(script.Feed("push w0 #1 based-on=v0 non-finite"),
              ElementsAre("drop w0 #1 non-finite", "release w0 at v0 exact"));
}

TEST(Barrier, ThreeNonFinitePushesInARowExpel) {
  Script script("BSP batch=3 workers=3");
  script.FeedAll(kThreeJoin);
  for (int step = 0; step < 2; ++step) {
    script.Feed(fmt::format("push w0 #{} based-on=v{} non-finite", step + 1, step));
    script.Feed(fmt::format("push w1 #{} based-on=v{}", step + 1, step));
    script.Feed(fmt::format("push w2 #{} based-on=v{}", step + 1, step));
  }
  EXPECT_THAT(script.Feed("push w0 #3 based-on=v2 non-finite"),
              ElementsAre("drop w0 #3 non-finite", "expel w0 non-finite-repeatedly"));
  EXPECT_THAT(script.Feed("leave w0 expelled"), IsEmpty());
  EXPECT_THAT(script.Feed("push w1 #3 based-on=v2"), ElementsAre("accumulate w1 #3 weight=1"));
}

TEST(Barrier, AFinitePushForgivesThoseBefore) {
  Script script("BSP batch=3 workers=3");
  script.FeedAll(kThreeJoin);
  for (int step = 0; step < 5; ++step) {
    script.Feed(
        fmt::format("push w0 #{} based-on=v{}{}", step + 1, step, step == 2 ? "" : " non-finite"));
    script.Feed(fmt::format("push w1 #{} based-on=v{}", step + 1, step));
    EXPECT_THAT(script.Feed(fmt::format("push w2 #{} based-on=v{}", step + 1, step)),
                Contains(fmt::format("release w0 at v{} exact", step + 1)));
  }
}

// Of no sample: that its worker computes sound gradients it does not say.
TEST(Barrier, APushOfSkippedSamplesForgivesNothing) {
  Script script("BSP batch=3 workers=3");
  script.FeedAll(kThreeJoin);
  std::vector<std::string> decided;
  for (int step = 0; step < 4; ++step) {
    const std::string at = fmt::format(" #{} based-on=v{}", step + 1, step);
    decided = script.Feed("push w0" + at + (step == 2 ? " empty" : " non-finite"));
    if (step == 2) {
      EXPECT_THAT(decided, ElementsAre("accumulate w0 #3 weight=1"));
    }
    script.FeedAll({"push w1" + at, "push w2" + at});
  }
  EXPECT_THAT(decided, Contains("expel w0 non-finite-repeatedly"));
}

TEST(Barrier, AStepOfSkippedSamplesAloneIsCommitted) {
  Script script("BSP batch=2 workers=2");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0 empty"});
  EXPECT_THAT(
      script.Feed("push w1 #1 based-on=v0 empty"),
      IsSupersetOf({"commit scale=0.5", "release w0 at v1 exact", "release w1 at v1 exact"}));
}

TEST(Barrier, AnAbandonedStepIsTriedAgainWithWhatFits) {
  Script script("BSP batch=64");
  script.Feed("join w0");
  EXPECT_THAT(script.Feed("abandon w0 #1 out-of-memory fit=24"),
              ElementsAre("release w0 at v0 exact samples=24"));
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v0 samples=24"),
              Contains("release w0 at v1 exact samples=24"));
}

TEST(Barrier, SamplesThatReturnWakeWhoFoundNone) {
  Script script("BSP batch=2 workers=2");
  script.FeedAll({"join w0", "join w1"});
  EXPECT_THAT(script.Feed("out-of-data w0"), IsEmpty());
  EXPECT_THAT(script.Feed("abandon w1 #1 interrupted"), ElementsAre("release w1 at v0 exact"));
  EXPECT_THAT(script.Feed("samples-returned 1"), ElementsAre("release w0 at v0 exact"));
}

TEST(Barrier, NeitherACommitNorALossWakesWhoFoundNone) {
  Script script("BSP batch=3 workers=3");
  script.FeedAll(kThreeJoin);
  script.FeedAll({"out-of-data w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("push w2 #1 based-on=v0"), Not(Contains(StartsWith("release w1 "))));
  EXPECT_THAT(script.Feed("leave w2 silent"), IsEmpty());
}

TEST(Barrier, APushOfAnUnknownWorkerIsDropped) {
  Script script("BSP");
  EXPECT_THAT(script.Feed("push w9 #1 based-on=v0"), ElementsAre("drop w9 #1 worker-left"));
}

TEST(Barrier, FactsAboutUnknownWorkersChangeNothing) {
  Script script("BSP");
  script.Feed("join w0");
  EXPECT_THAT(
      script.FeedAll({"leave w9 silent", "out-of-data w9", "samples-returned 3",
                      "abandon w9 #1 interrupted", "deadline", "spare budget=5", "committed v3"}),
      IsEmpty());
}

TEST(Barrier, AfterQuiesceNobodyIsReleased) {
  Script script("BSP batch=2 workers=2");
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0"});
  EXPECT_THAT(script.Feed("quiesce stop deadline=9"), ElementsAre("commit scale=1"));
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), ElementsAre("drop w1 #1 quiescing"));
  EXPECT_THAT(script.FeedAll({"join w2", "leave w0 drained", "quiesce stop deadline=9"}),
              IsEmpty());
}

TEST(Barrier, ACloneGoesItsOwnWay) {
  auto policy = Script::Make("BSP batch=2 workers=1");
  std::vector<Decision> decisions;
  policy->Observe(WorkerJoined{WorkerId(0)}, Time{}, decisions);
  Script clone(policy->Clone());
  EXPECT_THAT(clone.Feed("leave w0 silent"), IsEmpty());
  Script original(std::move(policy));
  EXPECT_THAT(original.Feed("push w0 #1 based-on=v0 samples=2"),
              ElementsAre("accumulate w0 #1 weight=2", "commit scale=0.5",
                          "release w0 at v1 exact samples=2"));
}

}  // namespace
}  // namespace paceline::sync
