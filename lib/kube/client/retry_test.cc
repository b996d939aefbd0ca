// When requests are sent again, and how watches are cut into events.
#include "lib/kube/client/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/client/watch_parser.h"
#include "lib/kube/core/api_error.h"

namespace paceline::kube {
namespace {

using testing::HasSubstr;

const ClientOptions kOptions{
    .attempts_max = 4, .backoff_min = Seconds(1), .backoff_max = Seconds(3)};

TEST(Retry, DependsOnWhatMayHaveHappened) {
  const struct {
    const char* what;
    FailedAttempt attempt;
    bool if_repeatable, if_not;
  } cases[] = {
      {"too many requests, come back", {.code = 429, .retry_after = Seconds(1)}, true, true},
      {"an eviction that is forbidden", {.code = 429}, false, false},
      {"overloaded, come back", {.code = 503, .retry_after = Seconds(1)}, true, true},
      {"overloaded", {.code = 503}, true, false},
      {"internal", {.code = 500}, true, false},
      {"bad gateway", {.code = 502}, true, false},
      {"not implemented", {.code = 501}, false, false},
      {"conflict", {.code = 409}, false, false},
      {"not found", {.code = 404}, false, false},
      {"no answer", {.code = 0}, true, false},
      {"never sent", {.code = 0, .was_sent = false}, true, true},
      {"not trusted", {.code = 0, .was_sent = false, .is_hopeless = true}, false, false},
      {"the last attempt", {.number = 4, .code = 0}, false, false},
  };
  for (const auto& [what, attempt, if_repeatable, if_not] : cases) {
    EXPECT_EQ(RetryDelay(attempt, true, kOptions, 0.5).has_value(), if_repeatable) << what;
    EXPECT_EQ(RetryDelay(attempt, false, kOptions, 0.5).has_value(), if_not) << what;
  }
}

TEST(Retry, WaitsTwiceAsLongEachTimeUpToABoundAndSpread) {
  const auto delay = [](int number, double chance) {
    return ToSeconds(*RetryDelay({.number = number}, true, kOptions, chance));
  };
  EXPECT_DOUBLE_EQ(delay(1, 0.5), 1);
  EXPECT_DOUBLE_EQ(delay(2, 0.5), 2);
  EXPECT_DOUBLE_EQ(delay(3, 0.5), 3);
  EXPECT_DOUBLE_EQ(delay(1, 0), 0.5);
  EXPECT_NEAR(delay(1, 0.999), 1.5, 0.01);
}

TEST(Retry, NeverComesBackBeforeTheServerWants) {
  const FailedAttempt attempt{.code = 429, .retry_after = Seconds(10)};
  EXPECT_EQ(RetryDelay(attempt, false, kOptions, 0), Seconds(10));
  EXPECT_GT(*RetryDelay(attempt, false, kOptions, 0.9), Seconds(10));
}

TEST(Retry, ReadsWholeSeconds) {
  EXPECT_EQ(ParseRetryAfter("3"), Seconds(3));
  for (const char* bad : {"", "-1", "1.5", "Fri, 31 Dec 1999 23:59:59 GMT", "9999999"}) {
    EXPECT_FALSE(ParseRetryAfter(bad).has_value()) << bad;
  }
}

constexpr char kStream[] =
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"managedFields\":[{}]}}}\n"
    "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\r\n\n"
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n"
    "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"c\"}}}\n";

TEST(WatchParser, GivesTheSameEventsHoweverTheBytesAreCut) {
  const std::string stream = kStream;
  for (size_t size = 1; size <= stream.size(); ++size) {
    std::vector<std::string> seen;
    WatchParser parser({}, [&](WatchEvent event) {
      seen.push_back(fmt::format("{} {}", static_cast<int>(event.type), event.object.dump()));
    });
    for (size_t at = 0; at < stream.size(); at += size) {
      ASSERT_TRUE(parser.Feed(std::string_view(stream).substr(at, size)).ok());
    }
    EXPECT_THAT(seen, testing::ElementsAre(R"(0 {"metadata":{"name":"a"}})",
                                           R"(1 {"metadata":{"name":"b"}})",
                                           R"(3 {"metadata":{"resourceVersion":"7"}})",
                                           R"(2 {"metadata":{"name":"c"}})"))
        << size;
  }
}

TEST(WatchParser, AnErrorEventIsTheApisError) {
  WatchParser parser(Selection({"/metadata/name"}), [](WatchEvent) { FAIL(); });
  const Status status = parser.Feed(
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\","
      "\"message\":\"too old resource version\"}}\n");
  EXPECT_TRUE(IsExpired(status)) << status;
}

TEST(WatchParser, RefusesWhatIsNoEvent) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\n", "cannot be read"},
      {"[]\n", "unknown type: \"\""},
      {"{\"type\":\"NEWS\",\"object\":{}}\n", "unknown type: \"NEWS\""},
      {"{\"type\":\"ADDED\"}\n", "without an object"}};
  for (const auto& [text, told] : cases) {
    WatchParser parser({}, [](WatchEvent) { FAIL(); });
    EXPECT_THAT(Message(parser.Feed(text)), HasSubstr(told));
  }
}

}  // namespace
}  // namespace paceline::kube
