// What whole lives do not show (simulator/driver/auto_test.cc has those).
#include "lib/sync/schemes/auto/auto_policy.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/testing.h"

namespace paceline::sync {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Script;

PolicySpec Parsed(const std::string& text) { return *ParsePolicySpec(text); }

// Rounds of two workers of which the second takes three times as long; then the first round that
// does without it, as far as a barrier is kept.
void Live(Script& script, int rounds) {
  script.FeedAll({"join w0", "join w1"});
  for (int round = 0; round < rounds; ++round) {
    const std::string at = "#" + std::to_string(round + 1) + " based-on=v" + std::to_string(round);
    script.FeedAll({"push w0 " + at + " samples=4 compute=1 norm2=3",
                    "push w1 " + at + " samples=4 compute=3 norm2=3",
                    "committed v" + std::to_string(round + 1) + " norm2=2"});
  }
}

std::map<std::string, double> Figures(const Policy& policy) {
  std::vector<Figure> figures;
  policy.Tell(figures);
  std::map<std::string, double> values;
  for (const Figure& figure : figures)
    values[std::string(figure.kind->name) + (figure.label.empty() ? "" : "/" + figure.label)] =
        figure.value;
  return values;
}

TEST(AutoPolicyTest, WhatItLearntIsSavedAndRestored) {
  Script script("Auto batch=8 workers=2 barrier-kept");
  Live(script, 5);
  const std::string saved = script.policy().Save();
  const auto spec = Parsed("Auto batch=8 workers=2 barrier-kept");
  const auto restored = MakePolicy(spec, saved);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ((*restored)->Save(), saved);
  EXPECT_NE((*MakePolicy(spec))->Save(), saved);
  EXPECT_EQ(WhatFits(spec, saved), saved);
}

TEST(AutoPolicyTest, WhatOthersSavedIsNotTaken) {
  const auto spec = Parsed("Auto batch=8 workers=2");
  const std::string narx = (*MakePolicy(Parsed("DBW batch=8 workers=2")))->Save();
  EXPECT_EQ(MakePolicy(spec, narx).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(WhatFits(spec, narx), "");
  EXPECT_EQ(WhatFits(Parsed("BSP batch=8 workers=2"), (*MakePolicy(spec))->Save()), "");
  for (const char* const bad :
       {"auto", "auto noise=1,2 trust=1 bans=0 banned=0", "auto noise=0,0,0,0,0,0 trust=x",
        "auto noise=0,0,0,0,0,0 trust=1 bans=0 banned=0 more=1"})
    EXPECT_EQ(AutoPolicy::Make(spec, bad).status().code(), StatusCode::kDataLoss) << bad;
}

// The engine alone cannot become it, nor it the engine.
TEST(AutoPolicyTest, OtherSchemesAreOtherPolicies) {
  const auto spec = Parsed("Auto batch=8 workers=2");
  EXPECT_FALSE(MayReconfigure(spec, Parsed("BSP batch=8 workers=2")));
  EXPECT_FALSE(MayReconfigure(Parsed("BSP batch=8 workers=2"), spec));
  EXPECT_FALSE(MayReconfigure(spec, Parsed("Auto batch=8 workers=2 barrier-kept")));
  EXPECT_TRUE(MayReconfigure(spec, Parsed("Auto batch=8 workers=2 late-worker=offer")));
}

TEST(AutoPolicyTest, LateWorkersDoAsTheSpecSays) {
  for (const char* const way : {"offer", "leave", "interrupt"}) {
    Script script("Auto batch=8 workers=2 barrier-kept late-worker=" + std::string(way));
    Live(script, 3);
    const auto decided = script.Feed("push w0 #4 based-on=v3 samples=4 compute=1");
    if (std::string(way) == "leave") {
      EXPECT_THAT(decided, Not(::testing::Contains(HasSubstr("w1"))));
    } else {
      EXPECT_THAT(decided, ::testing::Contains(HasSubstr(std::string(way) + " w1")));
    }
  }
}

// One of half of the samples is sqrt((1 + 1) / (1 + 2)) of a whole one, so that it is as long; and
// half of that where its gradient's squared norm is 12, and 3 before.
TEST(AutoPolicyTest, StepsOfFewAreNoLongerThanWithUsualGradients) {
  Script script("Auto batch=8 workers=2 barrier-kept");
  script.FeedAll({"join w0", "join w1"});
  for (int round = 0; round < 3; ++round) {
    const std::string at = fmt::format(" #{} based-on=v{} samples=4 norm2=", round + 1, round);
    script.Feed("push w0" + at + "3 compute=1");
    EXPECT_THAT(script.Feed("push w1" + at + "3 compute=3"),
                ::testing::Contains("commit scale=0.125"));
    script.Feed(fmt::format("committed v{} norm2=2", round + 1));
  }
  EXPECT_THAT(script.Feed("push w0 #4 based-on=v3 samples=4 norm2=12 compute=1"),
              ::testing::Contains(HasSubstr("commit scale=0.25 lr=0.40824829")));
  script.Feed("committed v4 norm2=3");
  EXPECT_THAT(script.Feed("push w0 #5 based-on=v4 samples=4 norm2=3 compute=1"),
              ::testing::Contains(HasSubstr("commit scale=0.25 lr=0.81649658")));
}

// It answers its round; its norm of nothing is no gradient that agrees with others.
TEST(AutoPolicyTest, APushOfSkippedSamplesIsNoMeasure) {
  const auto learnt = [](const std::string& of_it) {
    Script script("Auto batch=12 workers=3 barrier-kept");
    script.FeedAll({"join w0", "join w1", "join w2"});
    for (int round = 0; round < 4; ++round) {
      const std::string at = fmt::format(" #{} based-on=v{} samples=4 ", round + 1, round);
      script.FeedAll({"push w0" + at + "compute=1 norm2=3 loss=2",
                      "push w1" + at + "compute=1 norm2=3 loss=2"});
      const auto decided = script.Feed("push w2" + at + of_it);
      EXPECT_THAT(decided, ::testing::Contains(HasSubstr("commit"))) << "nobody waits";
      script.Feed(fmt::format("committed v{} norm2=2", round + 1));
    }
    return std::pair(script.policy().Save(), Figures(script.policy()));
  };
  EXPECT_EQ(learnt("loss=2 empty"), learnt("compute=7 loss=9 norm2=50 empty"));
  EXPECT_NE(learnt("compute=1 loss=2 empty"), learnt("compute=1 loss=2"));
}

// However few samples they had.
TEST(AutoPolicyTest, StepsOfAllAreAsLongAsTheScheduleSays) {
  Script script("Auto batch=8 workers=2 barrier-kept");
  script.FeedAll({"join w0", "join w1"});
  for (int round = 0; round < 5; ++round) {
    const bool is_last = round == 4;
    const std::string at = fmt::format(" #{} based-on=v{} samples={} compute=1 norm2={}", round + 1,
                                       round, is_last ? 2 : 4, is_last ? 3000 : 3);
    script.Feed("push w0" + at);
    EXPECT_THAT(script.Feed("push w1" + at),
                ::testing::Contains(is_last ? "commit scale=0.25" : "commit scale=0.125"));
    script.Feed(fmt::format("committed v{} norm2=2", round + 1));
  }
}

// Pushes without a barrier are based on different versions, and differ for that reason as well.
TEST(AutoPolicyTest, NoiseIsMeasuredWithABarrierAlone) {
  Script script("Auto batch=16 workers=4");
  script.FeedAll({"join w0", "join w1", "join w2", "join w3"});
  std::vector<std::string> decided;
  for (int round = 0; round < 3; ++round) {
    for (int worker = 0; worker < 4; ++worker)
      decided = script.Feed(fmt::format("push w{} #{} based-on=v{} samples=4 compute={} norm2=50",
                                        worker, round + 1, round, worker == 0 ? 1 : 3));
    script.Feed(fmt::format("committed v{} norm2=1", round + 1));
  }
  ASSERT_THAT(decided, ::testing::Contains(HasSubstr("chosen async")));
  const std::string learnt = script.policy().Save();
  script.FeedAll({"push w0 #4 based-on=v3 samples=4 compute=1 norm2=900",
                  "push w0 #5 based-on=v3 samples=4 compute=1 norm2=900", "committed v4 norm2=2"});
  EXPECT_EQ(script.policy().Save(), learnt);
}

// What a barrier on the first pushes promises is believed again, little by little, while nobody
// waits at one.
TEST(AutoPolicyTest, HowLongRoundsOfFewTookIsForgottenWithoutABarrier) {
  Script script("Auto batch=16 workers=4");
  script.FeedAll({"join w0", "join w1", "join w2", "join w3"});
  int version = 0;
  std::map<int, int> sequences;
  const auto push = [&](int worker, double norm) {
    const auto decided =
        script.Feed(fmt::format("push w{} #{} based-on=v{} samples=4 compute={} norm2={}", worker,
                                ++sequences[worker], version, worker == 3 ? 90 : 10, norm));
    if (std::ranges::any_of(decided, [](const auto& line) { return line.starts_with("commit"); }))
      script.Feed(fmt::format("committed v{} norm2=1", ++version));
  };
  const auto figure = [&](const char* name) { return Figures(script.policy())[name]; };
  for (int i = 0; i < 12; ++i) push(i % 4, 1.1);
  ASSERT_EQ(figure("paceline_step_waits_for"), 3);
  // Longer than the ten seconds that steps take, and of gradients that are noise.
  for (int round = 0; round < 3; ++round) {
    for (int second = 0; second < 8; ++second) script.Feed("spare budget=0");
    for (int worker = 0; worker < 3; ++worker) push(worker, 5000);
  }
  ASSERT_EQ(figure("paceline_auto_async"), 1);
  double before = figure("paceline_auto_progress/barrier");
  for (int sweep = 0; sweep < 5; ++sweep) {
    for (int i = 0; i < 4; ++i) push(i % 3, 5000);
    EXPECT_GT(figure("paceline_auto_progress/barrier"), before) << sweep;
    before = figure("paceline_auto_progress/barrier");
  }
  EXPECT_EQ(figure("paceline_auto_async"), 1);
}

// A round in which somebody came or went says nothing of how long rounds take.
TEST(AutoPolicyTest, WhoComesAndGoesChangesNothingThatIsMeasured) {
  const auto measured = [](const std::vector<std::string>& in_between) {
    Script script("Auto batch=16 workers=4 barrier-kept");
    script.FeedAll({"join w0", "join w1", "join w2", "join w3"});
    for (int round = 0; round < 12; ++round) {
      if (round == 1) script.FeedAll(in_between);
      for (int worker = 0; worker < (round < 3 ? 4 : 3); ++worker) {
        script.Feed(fmt::format("push w{} #{} based-on=v{} samples=4 compute={} norm2=1.1", worker,
                                round + 1, round, worker == 3 ? 900 : 100));
      }
      script.Feed(fmt::format("committed v{} norm2=1", round + 1));
    }
    return Figures(script.policy())["paceline_auto_gain/measured"];
  };
  const double usual = measured({});
  EXPECT_GT(usual, 1);
  std::vector<std::string> visit(30, "spare budget=0");
  visit.insert(visit.begin(), {"join w4", "leave w4 disconnected"});
  EXPECT_EQ(measured(visit), usual);
}

// What it has chosen stays.
TEST(AutoPolicyTest, IsChangedWhileItRuns) {
  Script script("Auto batch=8 workers=2 barrier-kept");
  Live(script, 3);
  EXPECT_THAT(script.Feed("reconfigured Auto batch=8 workers=2 barrier-kept late-worker=offer"),
              IsEmpty());
  const auto decided = script.Feed("push w0 #4 based-on=v3 samples=4 compute=1");
  EXPECT_THAT(decided, ::testing::Contains(HasSubstr("commit")));
  EXPECT_THAT(decided, ::testing::Contains("offer w1 v4"));
}

TEST(AutoPolicyTest, TellsWhatItExpects) {
  Script script("Auto batch=8 workers=2 barrier-kept");
  Live(script, 2);
  auto told = Figures(script.policy());
  EXPECT_EQ(told["paceline_auto_async"], 0);
  EXPECT_EQ(told["paceline_step_waits_for"], 2);
  EXPECT_FALSE(told.contains("paceline_auto_progress/barrier"));
  EXPECT_FALSE(script.policy().Deadline()) << "nothing is known of how long a round should take";
  Script later("Auto batch=8 workers=2 barrier-kept");
  Live(later, 3);
  told = Figures(later.policy());
  EXPECT_EQ(told["paceline_auto_choices_total/faster"], 1);
  EXPECT_EQ(told["paceline_step_waits_for"], 1);
  EXPECT_GT(told["paceline_auto_gain/expected"], 1);
  EXPECT_GT(told["paceline_auto_progress/barrier"], told["paceline_auto_progress/barrier-of-all"]);
  EXPECT_NEAR(told["paceline_auto_progress/barrier-of-all"], 0.75 / 3.5, 0.01)
      << "a step of all costs a quarter of what its gradient promises, and takes 3 s and transfers";
  EXPECT_TRUE(later.policy().Deadline());
}

class RisingLoss : public ::testing::TestWithParam<bool> {};

TEST_P(RisingLoss, BringsTheBarrierBackForLong) {
  Script script("Auto batch=16 workers=4");
  script.FeedAll({"join w0", "join w1", "join w2", "join w3"});
  std::vector<std::string> decided;
  int version = 0;
  const auto push = [&](int worker, int sequence, int loss) {
    decided =
        script.Feed(fmt::format("push w{} #{} based-on=v{} samples=4 compute={} norm2=50 loss={}",
                                worker, sequence, version, worker == 0 ? 1 : 3, loss));
  };
  const auto publish = [&] { script.Feed(fmt::format("committed v{} norm2=1", ++version)); };
  for (int round = 0; round < 3; ++round) {
    for (int worker = 0; worker < 4; ++worker) push(worker, round + 1, 1);
    if (round < 2) publish();
  }
  ASSERT_THAT(decided, ::testing::Contains(HasSubstr("chosen async")));
  publish();
  // Five sweeps of four pushes, but for one push, all of the fast one.
  int sequence = 4;
  for (; sequence < 23; ++sequence) {
    push(0, sequence, 2);
    EXPECT_THAT(decided, Not(::testing::Contains(HasSubstr("chosen barrier")))) << sequence;
    if (sequence % 2 == 1) publish();
  }
  EXPECT_THAT(script.policy().Save(), HasSubstr("bans=0"));
  // Whose times are not known is no reason to go on. The sweep begins anew then.
  if (GetParam()) script.Feed("join w4");
  for (const int last = sequence + (GetParam() ? 4 : 1); sequence < last; ++sequence) {
    push(0, sequence, 2);
    if (sequence % 2 == 1) publish();
  }
  EXPECT_THAT(decided, ::testing::Contains(HasSubstr("reason=loss-rose")));
  EXPECT_THAT(script.policy().Save(), HasSubstr("trust=0.8 bans=1 banned=30"));
  EXPECT_EQ(Figures(script.policy())["paceline_auto_async"], 0);
}

INSTANTIATE_TEST_SUITE_P(SomebodyJoined, RisingLoss, ::testing::Bool());

TEST(AutoPolicyTest, AtTheEndNothingIsChosenAnyMore) {
  Script script("Auto batch=8 workers=2 barrier-kept");
  Live(script, 3);
  script.Feed("quiesce stop deadline=90");
  EXPECT_THAT(script.FeedAll({"leave w1 disconnected", "join w2"}), IsEmpty());
  EXPECT_FALSE(script.policy().Deadline());
}

}  // namespace
}  // namespace paceline::sync
