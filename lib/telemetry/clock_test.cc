#include "lib/telemetry/clock.h"

#include <regex>

#include <gtest/gtest.h>

namespace paceline::telemetry {
namespace {

TEST(SteadyNow, NeverGoesBack) {
  Time before = SteadyNow();
  for (int i = 0; i < 1000; ++i) {
    const Time now = SteadyNow();
    ASSERT_GE(now, before);
    before = now;
  }
}

TEST(SteadyNow, Advances) {
  const Time start = SteadyNow();
  while (SteadyNow() == start) {
  }
  EXPECT_GT(SteadyNow(), start);
}

TEST(UtcText, IsIso8601WithMilliseconds) {
  const std::regex form(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z)");
  EXPECT_TRUE(std::regex_match(UtcText(), form)) << UtcText();
}

}  // namespace
}  // namespace paceline::telemetry
