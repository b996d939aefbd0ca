#include "lib/telemetry/http_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::telemetry {
namespace {

using testing::HasSubstr;

using Headers = std::map<std::string, std::string>;

int StatusOf(const Headers& headers, const std::string& method = "PUT") {
  Headers all = {{"content-type", "application/json"}};
  for (const auto& [name, value] : headers) all[name] = value;
  HttpRequest request;
  request.method = method;
  request.headers = all;
  const auto refused = RefuseForeign(request, "http", {"t-ps-0.t.default.svc", ""});
  return refused ? refused->status : 200;
}

TEST(HttpGuard, TakesHostsThatAreOurs) {
  for (const char* const host :
       {"127.0.0.1", "127.0.0.1:7601", "10.1.2.3:7601", "localhost:80", "LOCALHOST", "[::1]:7601",
        "[fd00::1]", "t-ps-0.t.default.svc:7601", "T-ps-0.t.default.svc"})
    EXPECT_EQ(StatusOf({{"host", host}}), 200) << host;
}

TEST(HttpGuard, RefusesHostsThatAreNot) {
  EXPECT_EQ(StatusOf({}), 403);
  for (const char* const host :
       {"", "evil.example", "evil.example:7601", "localhost.evil.example", "127.0.0.1.evil.example",
        "127.0.0.1:7601, evil.example", "evil.example, 127.0.0.1", "[::1", "[::1]evil",
        "127.0.0.1:80:80", "0x7f000001", "svc"})
    EXPECT_EQ(StatusOf({{"host", host}}), 403) << host;
}

TEST(HttpGuard, TakesNoOriginOrItsOwn) {
  EXPECT_EQ(StatusOf({{"host", "127.0.0.1:80"}, {"origin", "http://127.0.0.1:80"}}), 200);
  for (const char* const origin :
       {"null", "", "http://evil.example", "https://127.0.0.1:80", "http://127.0.0.1",
        "http://127.0.0.1:8080", "http://localhost:80"})
    EXPECT_EQ(StatusOf({{"host", "127.0.0.1:80"}, {"origin", origin}}), 403) << origin;
  HttpRequest request;
  request.method = "GET";
  request.headers = {{"host", "127.0.0.1:80"}, {"origin", "http://evil.example"}};
  const auto refused = RefuseForeign(request, "http", {});
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(refused->body, HasSubstr("Origin is not allowed: \"http://evil.example\", want none "
                                       "or http://127.0.0.1:80"));
}

TEST(HttpGuard, ChangesAreJson) {
  for (const char* const type : {"application/json", "Application/JSON; charset=utf-8"})
    EXPECT_EQ(StatusOf({{"host", "localhost"}, {"content-type", type}}), 200) << type;
  for (const char* const type :
       {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
        "application/jsonp", "text/plain;application/json"}) {
    EXPECT_EQ(StatusOf({{"host", "localhost"}, {"content-type", type}}), 415) << type;
    EXPECT_EQ(StatusOf({{"host", "localhost"}, {"content-type", type}}, "POST"), 415) << type;
    EXPECT_EQ(StatusOf({{"host", "localhost"}, {"content-type", type}}, "GET"), 200) << type;
  }
}

}  // namespace
}  // namespace paceline::telemetry
