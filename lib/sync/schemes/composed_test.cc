// What schemes do whose parts are of several: what the golden traces (tests/golden/sync) show whole
// is asked for here one by one.
#include <gmock/gmock.h>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Script;
using ::testing::StartsWith;

PolicySpec Spec(const std::string& text) { return *ParsePolicySpec(text); }

Script Playing(const std::string& text) {
  Script script(*MakePolicy(Spec(text)));
  for (uint32_t i = 0; i < Spec(text).workers_expected; ++i)
    script.Feed(fmt::format("join w{}", i));
  return script;
}

// What comes at once because nothing was computed is no speed.
TEST(Composed, SkippedSamplesAreNoSpeedToSizeBatchesBy) {
  const auto learnt = [](const std::string& of_it) {
    Script script = Playing("BSP workers=3 batch=60 sizing=EMA");
    for (int step = 1; step <= 4; ++step) {
      const std::string at = fmt::format(" #{} based-on=v{} samples=20 ", step, step - 1);
      script.FeedAll({"push w0" + at + "compute=1", "push w1" + at + "compute=1",
                      "push w2" + at + (step == 3 ? of_it : "compute=4"),
                      fmt::format("committed v{}", step)});
    }
    return script.policy().Save();
  };
  EXPECT_EQ(learnt("compute=0.001 empty"), learnt("compute=400 empty"));
  EXPECT_NE(learnt("compute=0.001 empty"), learnt("compute=0.001"));
}

// w2 computes fewer samples because it is slow; for once it is among the first two.
TEST(Composed, UnequalBatchesDoNotShrinkTowardsTheSmallOnes) {
  Script script = Playing("BackupWorkers workers=3 batch=60 sizing=EMA");
  for (int step = 1; step <= 3; ++step) {
    for (const std::string worker : {"w0", "w1", "w2"}) {
      script.Feed(fmt::format("push {} #{} based-on=v{} samples=20 compute={}", worker, step,
                              worker == "w2" ? std::max(step - 2, 0) : step - 1,
                              worker == "w2" ? 4 : 1));
    }
    script.Feed(fmt::format("committed v{}", step));
  }
  script.FeedAll({"push w0 #4 based-on=v3 samples=27 compute=1.35"});
  EXPECT_THAT(script.Feed("push w1 #4 based-on=v3 samples=27 compute=1.35"),
              Contains(StartsWith("commit")));
  script.FeedAll({"committed v4", "push w2 #4 based-on=v3 samples=6 compute=1.2"});
  // 33 samples of two workers, where two thirds of the batch are 40.
  EXPECT_THAT(script.FeedAll({"push w2 #5 based-on=v4 samples=6 compute=1.2",
                              "push w0 #5 based-on=v4 samples=27 compute=1.35"}),
              Not(Contains(StartsWith("commit"))));
  EXPECT_THAT(script.Feed("push w1 #5 based-on=v4 samples=27 compute=1.35"),
              Contains(StartsWith("commit")));
  script.FeedAll({"committed v5", "push w2 #6 based-on=v5 samples=6 compute=1.2",
                  "push w0 #6 based-on=v5 samples=27 compute=1.35"});
  // Nobody is left whose push could make up for it.
  EXPECT_THAT(script.Feed("leave w1 silent"), Contains(StartsWith("commit")));
}

TEST(Composed, WhatWasUnderWayCountsAfterTheReachHasBecomeNarrower) {
  Script script = Playing("SSP workers=3 batch=3");
  script.FeedAll({"push w0 #1 based-on=v0", "committed v1"});
  EXPECT_THAT(script.Feed("reconfigured BSP workers=3 batch=3"), IsEmpty());
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), ElementsAre("accumulate w1 #1 weight=1"));
  EXPECT_THAT(script.FeedAll({"push w2 #1 based-on=v0", "push w0 #2 based-on=v1"}),
              ElementsAre("accumulate w2 #1 weight=1", "accumulate w0 #2 weight=1",
                          "commit scale=0.3333333333333333", "release w0 at v2 exact",
                          "release w1 at v2 exact", "release w2 at v2 exact"));
}

TEST(Composed, WhatWasUnderWayCountsHoweverOftenTheReachHasBecomeNarrowerSince) {
  Script script = Playing("ASP workers=3 batch=3");
  script.FeedAll({"push w0 #1 based-on=v0", "committed v1", "push w0 #2 based-on=v1",
                  "committed v2", "reconfigured BSP reach=1 workers=3 batch=3",
                  "reconfigured BSP workers=3 batch=3"});
  EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"), ElementsAre("accumulate w1 #1 weight=1"));
}

// Its reach was wider when it was late: it counts, and is not given up for want of samples.
TEST(Composed, AStepThatCountsAfterAllIsNotInterrupted) {
  for (const bool is_weighed : {false, true}) {
    Script script = Playing("BackupWorkers backup=2 workers=3 batch=3");
    script.FeedAll({"push w0 #1 based-on=v0", "committed v1"});
    if (is_weighed) {
      script.FeedAll({"reconfigured BackupWorkers backup=2 late=weigh workers=3 batch=3",
                      "reconfigured BackupWorkers backup=2 workers=3 batch=3"});
    }
    const auto decisions = script.Feed("out-of-data w0");
    EXPECT_EQ(decisions.size(), is_weighed ? 0u : 2u);
    EXPECT_THAT(script.Feed("push w1 #1 based-on=v0"),
                Contains(is_weighed ? "accumulate w1 #1 weight=1" : "drop w1 #1 superseded"));
  }
}

TEST(Composed, WhoeverABarrierStoppedGoesOnWithoutOne) {
  Script script = Playing("BSP workers=3 batch=3");
  EXPECT_THAT(script.FeedAll({"push w0 #1 based-on=v0"}), ElementsAre("accumulate w0 #1 weight=1"));
  EXPECT_THAT(script.Feed("reconfigured ASP workers=3 batch=3"),
              ElementsAre("commit scale=1 lr=0.3333333333333333", "release w0 at v1"));
}

TEST(Composed, WhoJoinedForTheNextRoundJoinsAtOnceWithoutRounds) {
  Script script = Playing("BSP workers=2 batch=2");
  EXPECT_THAT(script.Feed("join w2"), IsEmpty());
  EXPECT_THAT(script.Feed("reconfigured KBatchAsync quorum=2 workers=2 batch=2"),
              ElementsAre("release w2 at v0"));
}

// The speeds that EMA has learnt are NARX' and, by way of equal shares, EMA's again.
TEST(Composed, SpeedsAreNotForgottenByAnotherSizer) {
  const std::string batch = " workers=2 batch=40";
  Script script = Playing("BSP sizing=EMA" + batch);
  script.FeedAll({"push w0 #1 based-on=v0 samples=20 compute=1",
                  "push w1 #1 based-on=v0 samples=20 compute=3", "committed v1",
                  "push w0 #2 based-on=v1 samples=20 compute=1",
                  "push w1 #2 based-on=v1 samples=20 compute=3", "committed v2"});
  script.Feed("reconfigured BSP" + batch);
  script.Feed("push w0 #3 based-on=v2 samples=30 compute=1.5");
  EXPECT_THAT(script.Feed("push w1 #3 based-on=v2 samples=10 compute=1.5"),
              Contains("release w1 at v3 exact samples=20"));
  script.FeedAll({"committed v3", "reconfigured BSP sizing=NARX" + batch});
  script.Feed("push w0 #4 based-on=v3 samples=20 compute=1");
  EXPECT_THAT(script.Feed("push w1 #4 based-on=v3 samples=20 compute=3"),
              Contains("release w1 at v4 exact samples=10"));
}

// Memory is of who is there: w0's limit goes when w0 does, also while nobody looks at limits.
TEST(Composed, ALimitThatLeftUnderEqualSharesIsForgotten) {
  const std::string batch = " workers=2 batch=40";
  for (const bool does_leave : {false, true}) {
    Script script = Playing("BSP sizing=EMA" + batch);
    script.FeedAll({"abandon w0 #1 out-of-memory fit=6", "reconfigured BSP" + batch});
    if (does_leave) script.FeedAll({"leave w0 disconnected", "join w0"});
    script.Feed("reconfigured BSP sizing=Stepwise" + batch);
    const std::string saved = script.policy().Save();
    EXPECT_EQ(saved.find("limit w0 samples=6") == std::string::npos, does_leave) << saved;
  }
}

// And where w0 leaves while limits are looked at, and comes back while another sizer does.
TEST(Composed, ALimitOfWhoIsGoneIsNotTheNextOnes) {
  const std::string batch = " workers=2 batch=40";
  for (const std::string next : {"", " sizing=Stepwise"}) {
    Script script = Playing("BSP sizing=EMA" + batch);
    script.FeedAll({"abandon w0 #1 out-of-memory fit=6", "leave w0 disconnected"});
    EXPECT_THAT(script.policy().Save(), HasSubstr("limit w0 samples=6"));
    script.FeedAll(
        {"reconfigured BSP" + next + batch, "join w0", "reconfigured BSP sizing=NARX" + batch});
    EXPECT_THAT(script.policy().Save(), Not(HasSubstr("limit"))) << next;
  }
}

TEST(Composed, ADbwThatComesBackKnowsTheTimesThatItSaw) {
  const std::string dbw = "DBW dbw-warm-up=1 dbw-method=blind workers=2 batch=2";
  Script script = Playing(dbw);
  script.FeedAll({"push w0 #1 based-on=v0", "push w1 #1 based-on=v0", "committed v1"});
  const std::string learnt = script.policy().Save();
  ASSERT_THAT(learnt, HasSubstr("dbw"));
  script.Feed("reconfigured BSP workers=2 batch=2");
  EXPECT_EQ(script.policy().Save(), "");
  script.FeedAll({"push w0 #2 based-on=v1", "push w1 #2 based-on=v1", "committed v2"});
  script.Feed("reconfigured " + dbw);
  script.FeedAll({"push w0 #3 based-on=v2", "push w1 #3 based-on=v2", "committed v3"});
  EXPECT_EQ(script.policy().Save(), learnt);
}

TEST(WhatFits, IsOfEachPartWhatTheOtherSpecUnderstands) {
  const auto policy = *MakePolicy(Spec("DBW workers=2 batch=4 sizing=EMA"));
  Script script(policy->Clone());
  script.FeedAll({"join w0", "join w1", "push w0 #1 based-on=v0 samples=2 compute=1",
                  "push w1 #1 based-on=v0 samples=2 compute=1", "committed v1",
                  "push w0 #2 based-on=v1 samples=2 compute=1",
                  "push w1 #2 based-on=v1 samples=2 compute=1", "committed v2"});
  const std::string saved = script.policy().Save();
  const auto fits = [&](const char* spec) { return WhatFits(Spec(spec), saved); };
  EXPECT_EQ(fits("DBW workers=2 batch=4 sizing=EMA"), saved);
  EXPECT_EQ(fits("BSP workers=2 batch=4"), "");
  EXPECT_THAT(fits("DBW meanwhile=eager-pull dbw-method=blind workers=2"), HasSubstr("dbw"));
  EXPECT_THAT(fits("WBSP workers=2 sizing=NARX"), Not(HasSubstr("dbw")));
  for (const char* spec : {"BSP", "DBW", "WBSP sizing=NARX", "PSPlus sizing=EMA", "SSP"})
    EXPECT_TRUE(MakePolicy(Spec(spec), fits(spec)).ok()) << spec;
}

// Elected by another trigger it ended rounds, alone, under one that waits for all.
TEST(Composed, WhoWasDesignatedEndsNoRoundOnceTheTriggerIsAnother) {
  Script script = Playing("WBSP basic trigger=designated workers=2 batch=2");
  script.FeedAll(
      {"push w0 #1 based-on=v0 compute=1", "push w1 #1 based-on=v0 compute=2", "committed v1"});
  EXPECT_THAT(script.Feed("push w1 #2 based-on=v1 compute=2"), Contains(StartsWith("commit")));
  script.FeedAll({"committed v2", "reconfigured WBSP basic workers=2 batch=2"});
  EXPECT_THAT(script.Feed("push w1 #3 based-on=v2 compute=2"), Not(Contains(StartsWith("commit"))));
  EXPECT_THAT(script.Feed("push w0 #2 based-on=v1 compute=1"), Contains(StartsWith("commit")));
}

}  // namespace
}  // namespace paceline::sync
