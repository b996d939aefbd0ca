#include "lib/job/manifest/values/duration_text.h"

#include <random>
#include <regex>

#include <gtest/gtest.h>

namespace paceline::job {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ParseDuration, ReadsUnitsInOrderWithFractions) {
  const struct {
    const char* text;
    Duration duration;
  } cases[] = {
      {"1h30m", minutes(90)},
      {"90s", seconds(90)},
      {"500ms", milliseconds(500)},
      {"1.5h", minutes(90)},
      {"0.5m", seconds(30)},
      {"0s", seconds(0)},
      {"1h0m0.5s", hours(1) + milliseconds(500)},
      {"1h2m3s4ms", hours(1) + minutes(2) + seconds(3) + milliseconds(4)},
      {"1h5ms", hours(1) + milliseconds(5)},
      {"5m5ms", minutes(5) + milliseconds(5)},
      {"1.5h1.5m1.5s1.5ms", seconds(5400 + 90 + 1) + milliseconds(501) + Duration(500'000)},
      {"0.000001ms", Duration(1)},
      {"0.123456h", Duration(444'441'600'000)},
      {"090s", seconds(90)},
      {"1000000000s", kDurationMax},
      {"277777h46m40s", kDurationMax},
  };
  for (const auto& c : cases) {
    const std::optional<Duration> duration = ParseDuration(c.text);
    ASSERT_TRUE(duration.has_value()) << c.text;
    EXPECT_EQ(duration->count(), c.duration.count()) << c.text;
  }
}

TEST(ParseDuration, TakesNothingElse) {
  for (const std::string text : {
           "",
           " ",
           "5",
           "90",
           "0.5",
           "s",
           "h",
           "ms",
           "-5s",
           "+5s",
           "1h 30m",
           " 1h",
           "1h ",
           "1h\n",
           "30m1h",
           "1s1h",
           "1ms1s",
           "1h1h",
           "1m1m",
           "1.s",
           ".5s",
           "1..5s",
           "1.5.5s",
           "1,5s",
           "1e3s",
           "1_000s",
           "0x1s",
           "1H",
           "1S",
           "1Ms",
           "1us",
           "1ns",
           "1d",
           "1sec",
           "1hm",
           "inf",
           "nan",
           "1.1234567s",
           "12345678901s",
           "PT1H",
           "1:30",
           "1h30",
           "1\xc2\xb5s",
           "\xef\xbc\x91s",
           "1\xe2\x80\x88h",
           "true",
       }) {
    EXPECT_FALSE(ParseDuration(text).has_value()) << text;
  }
  EXPECT_FALSE(ParseDuration(std::string("1h\0", 3)).has_value());
  EXPECT_FALSE(ParseDuration(std::string("1\0h", 3)).has_value());
}

TEST(ParseDuration, HostileTextsAreTooLongOrNothing) {
  for (const char* text :
       {"9999999999h", "9999999999h9999999999m", "9999999999.999999h1ms", "9999999999s",
        "1000000000s0.000001ms", "1000000000s1ms", "277778h", "16666667m",
        "2400000h150000000m"}) {  // The last one: more than 64 bits hold, but as a sum alone.
    const std::optional<Duration> duration = ParseDuration(text);
    ASSERT_TRUE(duration.has_value()) << text;
    EXPECT_GT(*duration, kDurationMax) << text;
  }
  EXPECT_TRUE(ParseDuration("0000000001.000000h0000000001.00m").has_value());    // 32 bytes.
  EXPECT_FALSE(ParseDuration("0000000001.000000h0000000001.000m").has_value());  // 33.
  EXPECT_FALSE(ParseDuration(std::string(1'000'000, '9') + "s").has_value());
  EXPECT_FALSE(ParseDuration(std::string(1'000'000, 's')).has_value());
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "1s";
  EXPECT_FALSE(ParseDuration(many).has_value());
}

// What an API server refuses by the pattern, and nothing else, is refused here.
TEST(ParseDuration, TakesWhatThePatternTakes) {
  const std::regex pattern(DurationPattern());
  std::mt19937_64 random(3);
  const char* parts[] = {"1", "30", "0", ".", "5", "h", "m", "s", "ms", "123456", " ", "-"};
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (uint64_t n = 1 + random() % 8; n > 0; --n) text += parts[random() % std::size(parts)];
    const bool fits = text.size() >= kDurationBytesMin && text.size() <= kDurationBytesMax;
    const bool matches = fits && std::regex_match(text, pattern);
    ASSERT_EQ(ParseDuration(text).has_value(), matches) << text;
    taken += matches ? 1 : 0;
  }
  EXPECT_GT(taken, 1000);
}

TEST(FormatDuration, WritesWhatAPersonWould) {
  const struct {
    Duration duration;
    const char* text;
  } cases[] = {
      {seconds(0), "0s"},
      {seconds(90), "90s"},
      {milliseconds(500), "500ms"},
      {milliseconds(1500), "1.5s"},
      {Duration(100'000), "0.1ms"},
      {Duration(1), "0.000001ms"},
      {seconds(1) + Duration(1), "1s0.000001ms"},
      {milliseconds(1001), "1.001s"},
      {kDurationMax, "1000000000s"},
      {kDurationMax - Duration(1), "999999999s999.999999ms"},
  };
  for (const auto& c : cases) EXPECT_EQ(FormatDuration(c.duration), c.text);
}

TEST(FormatDuration, IsReadAsTheSame) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100'000; ++i) {
    const int64_t most = kDurationMax.count() >> (random() % 60);
    const Duration duration(static_cast<int64_t>(random() % (static_cast<uint64_t>(most) + 1)));
    const std::string text = FormatDuration(duration);
    ASSERT_EQ(ParseDuration(text), duration) << text;
    ASSERT_LE(text.size(), kDurationBytesMax) << text;
    const double number = SecondsOf(duration);
    ASSERT_EQ(SecondsOf(NearestDuration(number)), number) << text;
  }
}

}  // namespace
}  // namespace paceline::job
