#include "lib/telemetry/log.h"

#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/base/ids.h"

namespace paceline::telemetry {
namespace {

using nlohmann::json;

std::string Json(std::initializer_list<LogField> fields, std::string_view message = "m") {
  return LogLine({.program = "p", .format = LogFormat::kJson}, "T", LogLevel::kInfo, message,
                 {fields.begin(), fields.size()});
}

std::string Text(std::initializer_list<LogField> fields) {
  return LogLine({.format = LogFormat::kText}, "T", LogLevel::kWarning, "message",
                 {fields.begin(), fields.size()});
}

TEST(LogLine, JsonKeepsTheOrderOfFields) {
  EXPECT_EQ(Json({{"worker", WorkerId{3}}, {"reason", "silent"}}, "worker lost"),
            R"({"ts":"T","level":"info","program":"p","msg":"worker lost","worker":"w3",)"
            R"("reason":"silent"})");
}

TEST(LogLine, JsonKeepsNumbersAndBooleans) {
  const json line = json::parse(Json({{"signed", -1},
                                      {"unsigned", std::numeric_limits<uint64_t>::max()},
                                      {"real", 0.5},
                                      {"yes", true}}));
  EXPECT_EQ(line["signed"], -1);
  EXPECT_EQ(line["unsigned"], std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(line["real"], 0.5);
  EXPECT_EQ(line["yes"], true);
}

TEST(LogLine, JsonSaysWhichNonFiniteNumber) {
  const json line = json::parse(Json({{"a", std::numeric_limits<double>::quiet_NaN()},
                                      {"b", -std::numeric_limits<double>::infinity()}}));
  EXPECT_EQ(line["a"], "nan");
  EXPECT_EQ(line["b"], "-inf");
}

TEST(LogLine, JsonSurvivesQuotesNewlinesAndBrokenUtf8) {
  const std::string line = Json({{"path", "a\"b\nc\xff"}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(line)["path"], "a\"b\nc\uFFFD");
}

TEST(LogLine, AFieldCannotReplaceTheMessage) {
  EXPECT_EQ(json::parse(Json({{"msg", "other"}}))["msg"], "m");
}

TEST(LogLine, TextQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(Text({{"n", 3}, {"path", "/tmp/x"}, {"why", "two words"}, {"empty", ""}}),
            R"(T warning message n=3 path=/tmp/x why="two words" empty="")");
}

TEST(LogLine, TextStaysOneLine) {
  EXPECT_EQ(Text({{"error", "a\nb"}}), R"(T warning message error="a\nb")");
}

TEST(Parse, LevelsAndFormats) {
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(*ParseLogLevel("error"), LogLevel::kError);
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_THAT(Message(ParseLogLevel("loud").status()), testing::HasSubstr("'loud'"));
  EXPECT_THAT(Message(ParseLogFormat("xml").status()), testing::HasSubstr("text or json"));
}

std::vector<std::string> Captured(auto&& body) {
  testing::internal::CaptureStderr();
  body();
  std::istringstream text(testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(Log, LeavesOutWhatIsBelowTheLevel) {
  const auto lines = Captured([] {
    ConfigureLog({.level = LogLevel::kWarning});
    Log(LogLevel::kInfo, "quiet");
    Log(LogLevel::kError, "{} braces are only text");
  });
  ASSERT_EQ(lines.size(), 1);
  EXPECT_THAT(lines[0], testing::HasSubstr("error   {} braces are only text"));
}

TEST(Log, LinesOfManyThreadsStayWhole) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  const auto lines = Captured([] {
    ConfigureLog({.program = "p", .format = LogFormat::kJson});
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; ++i) Log(LogLevel::kInfo, "line", {{"t", t}, {"i", i}});
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_EQ(lines.size(), kThreads * kLines);
  std::vector<int> next(kThreads, 0);
  for (const std::string& line : lines) {
    const json parsed = json::parse(line);
    EXPECT_EQ(parsed["i"], next[parsed["t"].get<int>()]++);
  }
}

}  // namespace
}  // namespace paceline::telemetry
