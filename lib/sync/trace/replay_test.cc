#include "lib/sync/trace/replay.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/sync/testing.h"
#include "lib/sync/trace/trace_recorder.h"

namespace paceline::sync {
namespace {

using ::testing::HasSubstr;

std::string Record(const std::string& spec_text, const std::vector<std::string>& events) {
  std::string trace;
  const PolicySpec spec = *ParsePolicySpec(spec_text);
  testing::Script script(std::make_unique<TraceRecorder>(
      testing::Script::Make(spec_text), spec, "",
      [&](std::string_view line) { trace += std::string(line) + "\n"; }));
  script.FeedAll(events);
  return trace;
}

const std::vector<std::string> kTwoSteps = {
    "join w0",
    "join w1",
    "push w0 #1 based-on=v0 samples=3 loss=0.1 compute=0.123456789",
    "push w1 #1 based-on=v0 samples=4",
    "committed v1",
    "push w1 #2 based-on=v1",
    "leave w0 silent",
    "quiesce stop deadline=99.5"};

TEST(TraceRecorder, WritesHeaderEventsAndDecisions) {
  EXPECT_EQ(Record("BSP batch=2 workers=1", {"join w0", "push w0 #1 based-on=v0 samples=2"}),
            "policy BSP batch=2 workers=1\n"
            "@0 join w0\n"
            "  release w0 at v0 exact samples=2\n"
            "@1 push w0 #1 based-on=v0 samples=2\n"
            "  accumulate w0 #1 weight=2\n"
            "  commit scale=0.5\n"
            "  release w0 at v1 exact samples=2\n");
}

TEST(Replay, WhatWasRecordedIsDecidedAgain) {
  for (const char* spec :
       {"BSP batch=7 workers=2", "BSP batch=7 workers=2 deterministic",
        "BackupWorkers batch=7 workers=2 backup=1", "SSP batch=7 workers=2 staleness=0",
        "ASP batch=7 workers=2 first-version=v3 update-scale=full"}) {
    const auto result = Replay(Record(spec, kTwoSteps));
    ASSERT_TRUE(result.ok()) << spec << ": " << result.status();
    EXPECT_FALSE(result->difference) << spec << " line " << result->difference->line;
    EXPECT_EQ(result->events, kTwoSteps.size());
    EXPECT_GT(result->decisions, 4u);
  }
}

// A trace of four steps in parts of some lines each, of which `lost` is missing.
std::string RecordInParts(const std::string& spec_text, size_t lost) {
  std::vector<std::string> parts(1), snapshots(1);
  const PolicySpec spec = *ParsePolicySpec(spec_text);
  testing::Script script(std::make_unique<TraceRecorder>(
      testing::Script::Make(spec_text), spec, "",
      [&](std::string_view line) { (parts.back() += line) += "\n"; },
      TraceRecorder::Parts{[&] { return std::ranges::count(parts.back(), '\n') > 8; },
                           [&](const std::vector<std::string>& snapshot) {
                             parts.emplace_back();
                             snapshots.emplace_back();
                             for (const std::string& line : snapshot)
                               (snapshots.back() += line) += "\n";
                           }}));
  script.FeedAll({"join w0", "join w1"});
  for (int step = 1; step <= 4; ++step) {
    for (const char* const worker : {"w0", "w1"}) {
      script.FeedAll({fmt::format("push {} #{} based-on=v{} samples=4 loss=0.1 compute=0.1", worker,
                                  step, step - 1)});
    }
    script.FeedAll({fmt::format("committed v{}", step)});
  }
  EXPECT_GT(parts.size(), lost + 1);
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == lost && i > 0) text += fmt::format("gap {}..{}\n{}", i, i, snapshots[i + 1]);
    if (i != lost || i == 0) text += parts[i];
  }
  return text;
}

TEST(TraceRecorder, AMissingPartIsStoodInForAndNotJudged) {
  const std::string spec = "BSP batch=8 workers=2";
  const auto whole = Replay(RecordInParts(spec, 0));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->gaps + whole->unchecked, 0u);
  const std::string text = RecordInParts(spec, 1);
  EXPECT_THAT(text, HasSubstr("gap 1..1\npolicy BSP batch=8 workers=2 first-version=v"));
  EXPECT_THAT(text, HasSubstr(" join w0\n"));
  const auto cut = Replay(text +
                          "policy BSP batch=2 workers=1\n@90 join w0\n"
                          "  release w0 at v0 exact samples=2\n");
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_FALSE(cut->difference) << cut->difference->line;
  EXPECT_EQ(cut->gaps, 1u);
  EXPECT_EQ(cut->policies, 2u);
  EXPECT_GT(cut->unchecked, 4u);
  EXPECT_LT(cut->unchecked, whole->events);
  // What stands before a gap, and what a new policy decides behind it, is judged.
  EXPECT_TRUE(
      Replay(text +
             "policy BSP batch=2 workers=1\n@90 join w0\n  release w0 at v7 exact samples=2\n")
          ->difference);
  std::string wrong = text;
  wrong.replace(wrong.find("  release w0"), 12, "  release w1");
  EXPECT_TRUE(Replay(wrong)->difference);
}

TEST(Replay, SeveralPoliciesFollowOneAnother) {
  const auto result = Replay(Record("BSP batch=2 workers=2", kTwoSteps) + "\n# scheme changed\n" +
                             Record("ASP batch=2 workers=2", kTwoSteps));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->difference);
  EXPECT_EQ(result->policies, 2u);
}

TEST(Replay, AnotherDecisionIsFoundWithItsLine) {
  const auto result = Replay(
      "policy BSP batch=2 workers=1\n"
      "@0 join w0\n"
      "  release w0 at v0 exact samples=3\n"
      "@1 leave w0 silent\n");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->difference);
  EXPECT_EQ(result->difference->line, 3u);
  EXPECT_EQ(result->difference->recorded, "release w0 at v0 exact samples=3");
  EXPECT_EQ(result->difference->replayed, "release w0 at v0 exact samples=2");
}

TEST(Replay, AMissingDecisionIsFound) {
  const auto result = Replay("policy BSP\n@0 join w0\n@1 leave w0 silent\n");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->difference);
  EXPECT_EQ(result->difference->line, 3u);
  EXPECT_EQ(result->difference->recorded, "");
}

TEST(Replay, AMissingDecisionAtTheVeryEndIsFound) {
  const auto result = Replay("policy BSP\n@0 join w0\n");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->difference);
  EXPECT_EQ(result->difference->replayed, "release w0 at v0 exact");
}

TEST(Replay, ASurplusDecisionIsFound) {
  const auto result = Replay("policy BSP workers=2\n@0 join w0\n  release w0 at v0 exact\n");
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->difference);
  EXPECT_EQ(result->difference->replayed, "");
}

TEST(Replay, ATraceCutOffAnywhereIsNoDifference) {
  const std::string trace = Record("BSP batch=2 workers=2", kTwoSteps);
  const size_t header = trace.find('\n') + 1;
  for (size_t size = header; size < trace.size(); ++size) {
    if (trace[size - 1] == '\n') continue;
    const auto result = Replay(std::string_view(trace).substr(0, size));
    ASSERT_TRUE(result.ok()) << size << ": " << result.status();
    EXPECT_FALSE(result->difference) << "cut after " << size << " bytes";
  }
}

TEST(Replay, WhatCannotBeReadIsRefusedWithItsLine) {
  const struct {
    const char* trace;
    const char* message;
  } cases[] = {
      {"", "trace has no policy"},
      {"@0 join w0\n", "line 1: event comes before its policy"},
      {"policy BSPP\n", "line 1: scheme is unknown"},
      {"policy BSP\n\njoin w0\n", "line 3: time is not valid"},
      {"policy BSP\n@0\n", "line 2: event is missing"},
      {"policy BSP\n@0 joined w0\n", "line 2: event is unknown"},
      {"policy BSP workers=2\n@0 join w0\n  released w0\n", "line 3: decision is unknown"},
      {"policy BSP\nsaved 00\n", "line 2: saved policy state has no parts"},
      {"policy ASP\nsaved 00\n", "line 2: saved policy state has no parts"},
      {"saved 00\n", "line 1: saved state comes before its policy"},
  };
  for (const auto& [trace, message] : cases) {
    const auto result = Replay(trace);
    ASSERT_FALSE(result.ok()) << trace;
    EXPECT_THAT(Message(result.status()), HasSubstr(message)) << trace;
  }
}

}  // namespace
}  // namespace paceline::sync
