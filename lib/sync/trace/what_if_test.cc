#include "lib/sync/trace/what_if.h"

#include <gmock/gmock.h>

#include "lib/sync/testing.h"
#include "lib/sync/trace/trace_recorder.h"

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three workers, of whom the last is late: rounds of BSP under which each pushes once.
std::vector<std::string> Rounds(int rounds) {
  std::vector<std::string> events = {"join w0", "join w1", "join w2"};
  for (int round = 0; round < rounds; ++round) {
    for (int worker = 0; worker < 3; ++worker) {
      events.push_back(
          fmt::format("push w{} #{} based-on=v{} samples=10 compute=1", worker, round + 1, round));
    }
    events.push_back(fmt::format("committed v{}", round + 1));
  }
  return events;
}

std::string Recorded(const std::string& policy, const std::vector<std::string>& events) {
  std::string trace;
  const PolicySpec spec = *ParsePolicySpec(policy);
  testing::Script script(std::make_unique<TraceRecorder>(
      testing::Script::Make(policy), spec, "",
      [&](std::string_view line) { trace += std::string(line) + "\n"; }));
  script.FeedAll(events);
  return trace;
}

WhatIfResult With(const std::string& trace, const std::string& policy) {
  const auto result = ReplayWith(trace, *ParsePolicySpec(policy));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : WhatIfResult();
}

constexpr const char* kBsp = "BSP batch=30 workers=3";

TEST(WhatIf, TheRecordedPolicyDecidesAlikeToTheEnd) {
  const std::vector<std::string> events = Rounds(20);
  for (const char* policy : {kBsp, "DBW batch=30 workers=3", "SSP batch=30 workers=3"}) {
    const WhatIfResult result = With(Recorded(policy, events), policy);
    EXPECT_FALSE(result.difference) << policy << " line " << result.difference->line;
    EXPECT_EQ(result.events, events.size());
    EXPECT_EQ(result.versions, 20u);
    EXPECT_EQ(result.after.recorded.versions, 0u);
  }
}

TEST(WhatIf, TheFirstDifferenceIsTheEventWithBothAnswers) {
  const WhatIfResult result =
      With(Recorded(kBsp, Rounds(3)), "BackupWorkers batch=30 workers=3 backup=1");
  ASSERT_TRUE(result.difference);
  EXPECT_EQ(result.events, 4u) << "three joins, and the first push";
  EXPECT_THAT(result.difference->event, HasSubstr("push w1 #1"));
  EXPECT_THAT(result.difference->recorded, ElementsAre("accumulate w1 #1 weight=10"));
  EXPECT_THAT(result.difference->other, ::testing::Contains("commit scale=0.05"));
}

TEST(WhatIf, BehindItTheOtherWaitsForWhatItWouldOnEachRecordedVersion) {
  const WhatIfResult fewer =
      With(Recorded(kBsp, Rounds(10)), "BackupWorkers batch=30 workers=3 backup=1");
  EXPECT_EQ(fewer.after.sooner, 10u);
  EXPECT_EQ(fewer.after.alike + fewer.after.later, 0u);
  EXPECT_EQ(fewer.after.recorded.mean(), 3);
  EXPECT_EQ(fewer.after.other.mean(), 2);

  // The other way round: w2's pushes are late, and all are waited for.
  std::vector<std::string> events = {"join w0", "join w1", "join w2"};
  for (int round = 0; round < 10; ++round) {
    for (int worker = 0; worker < 2; ++worker) {
      events.push_back(
          fmt::format("push w{} #{} based-on=v{} samples=10", worker, round + 1, round));
    }
    events.push_back(fmt::format("committed v{}", round + 1));
  }
  const WhatIfResult more =
      With(Recorded("BackupWorkers batch=30 workers=3 backup=1", events), kBsp);
  EXPECT_EQ(more.after.later, 10u);
  EXPECT_EQ(more.after.recorded.mean(), 2);
  EXPECT_EQ(more.after.other.mean(), 3);
}

TEST(WhatIf, WhoseCommitsAreOfOnePushCommitsSooner) {
  const WhatIfResult result = With(Recorded(kBsp, Rounds(10)), "ASP batch=30 workers=3");
  EXPECT_EQ(result.after.sooner, 10u);
  EXPECT_EQ(result.after.other.most, 1);
}

TEST(WhatIf, OneThatWaitsForOthersButCommitsWithTheSamePushIsAlike) {
  // Of equal pushes, weighed otherwise: the same moments, other batches.
  const WhatIfResult result = With(Recorded(kBsp, Rounds(10)), "BSP batch=60 workers=3");
  ASSERT_TRUE(result.difference);
  EXPECT_EQ(result.after.alike, 10u);
  EXPECT_EQ(result.after.other.mean(), 3);
}

// A policy's own times come, whatever the recorded one waited for.
TEST(WhatIf, ItsOwnDeadlinesCome) {
  std::string trace = Recorded("BSP batch=30 workers=3",
                               {"join w0", "join w1", "join w2", "push w0 #1 based-on=v0"});
  trace += "@1000 push w1 #1 based-on=v0\n  accumulate w1 #1 weight=1\n";
  const WhatIfResult result = With(trace, "DBW batch=30 workers=3 dbw-silence-seconds=5");
  ASSERT_TRUE(result.difference);
  EXPECT_THAT(result.difference->event, HasSubstr("@1000"));
}

// w2 and w3 are always late, and w2 leaves.
TEST(WhatIf, WhoLeavesIsNotWaitedForInLaterRounds) {
  std::vector<std::string> events = {"join w0", "join w1", "join w2", "join w3"};
  for (int round = 0; round < 8; ++round) {
    if (round == 3) events.push_back("leave w2 silent");
    for (int worker = 0; worker < 2; ++worker)
      events.push_back(fmt::format("push w{} #{} based-on=v{}", worker, round + 1, round));
    events.push_back(fmt::format("committed v{}", round + 1));
  }
  const WhatIfResult result =
      With(Recorded("BSP batch=40 workers=4 quorum=2", events), "BSP batch=40 workers=4");
  EXPECT_EQ(result.after.later, 8u);
  EXPECT_EQ(result.after.other.most, 4);
  EXPECT_EQ(result.after.other.least, 3);
  EXPECT_EQ(result.after.other.sum, 3 * 4 + 5 * 3);
}

// It had gone on waiting for w2 in each of the first rounds, and begins the next ones with the
// others.
TEST(WhatIf, ARoundThatItWouldHaveWaitedInEndsWithTheRecordedOne) {
  std::vector<std::string> events = {"join w0", "join w1", "join w2"};
  for (int round = 0; round < 8; ++round) {
    if (round == 3) events.push_back("leave w2 silent");
    for (int worker = 0; worker < 2; ++worker)
      events.push_back(fmt::format("push w{} #{} based-on=v{}", worker, round + 1, round));
    events.push_back(fmt::format("committed v{}", round + 1));
  }
  const WhatIfResult result =
      With(Recorded("BackupWorkers batch=30 workers=3 backup=1", events), kBsp);
  EXPECT_EQ(result.after.later, 3u);
  EXPECT_EQ(result.after.recorded.versions, result.after.later + result.after.alike);
  EXPECT_GE(result.after.alike, 1u);
}

TEST(WhatIf, AnEventThatIsCutOffIsLeftOut) {
  const std::string trace = Recorded(kBsp, Rounds(2));
  const size_t header = trace.find('\n') + 1;
  for (size_t size = header; size < trace.size(); ++size) {
    if (trace[size - 1] == '\n') continue;
    const auto result = ReplayWith(std::string_view(trace).substr(0, size), *ParsePolicySpec(kBsp));
    ASSERT_TRUE(result.ok()) << size << ": " << result.status();
    EXPECT_FALSE(result->difference) << "cut after " << size << " bytes";
  }
}

TEST(WhatIf, WhatCannotBeReadIsRefusedWithItsLine) {
  const PolicySpec spec = *ParsePolicySpec(kBsp);
  EXPECT_THAT(Message(ReplayWith("", spec).status()), HasSubstr("trace has no policy"));
  EXPECT_THAT(Message(ReplayWith("@0 join w0\n", spec).status()),
              HasSubstr("line 1: event comes before its policy"));
  EXPECT_THAT(Message(ReplayWith("policy BSP\n@0 sing w0\n", spec).status()), HasSubstr("line 2"));
}

}  // namespace
}  // namespace paceline::sync
