#include "lib/telemetry/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::telemetry {
namespace {

using ::testing::HasSubstr;

TEST(HttpMessage, FindsTheEndOfAHeadWhereverItWasCut) {
  const std::string bytes = "GET / HTTP/1.1\r\nA: b\r\n\r\nbody";
  const size_t end = bytes.find("body");
  for (size_t seen = 0; seen < bytes.size(); ++seen) {
    const std::string_view before = std::string_view(bytes).substr(0, seen);
    if (FindHeadEnd(before, 0)) continue;
    EXPECT_EQ(FindHeadEnd(bytes, seen), end) << seen;
  }
  EXPECT_FALSE(FindHeadEnd("GET / HTTP/1.1\r\nA: b\r\n", 0).has_value());
}

TEST(HttpMessage, ReadsAHead) {
  HttpHead head;
  const auto refusal = ReadHead(
      "PUT /v1/a%20b%zz?x=1+2&x=3&y=%26&&z HTTP/1.1\r\nHost: h\r\nX-Token:  s \r\n"
      "x-token: other\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n",
      head);
  ASSERT_FALSE(refusal.has_value());
  const std::map<std::string, std::string> query = {{"x", "1 2"}, {"y", "&"}, {"z", ""}};
  EXPECT_EQ(head.request.method, "PUT");
  EXPECT_EQ(head.request.path, "/v1/a b%zz");
  EXPECT_EQ(head.request.query, query);
  EXPECT_EQ(head.request.headers["x-token"], "s, other");
  EXPECT_EQ(head.body_bytes, 12u);
  EXPECT_TRUE(head.waits);
  EXPECT_FALSE(head.is_last);
}

TEST(HttpMessage, KnowsWhenAConnectionEnds) {
  const auto is_last = [](std::string_view head) {
    HttpHead read;
    EXPECT_FALSE(ReadHead(head, read).has_value());
    return read.is_last;
  };
  EXPECT_FALSE(is_last("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(is_last("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"));
  EXPECT_TRUE(is_last("GET / HTTP/1.0\r\n\r\n"));
}

TEST(HttpMessage, RefusesWhatItDoesNotUnderstand) {
  const struct {
    std::string head;
    int status;
  } cases[] = {
      {"", 400},
      {"GET /\r\n", 400},
      {"GET  HTTP/1.1\r\n", 400},
      {"G(T / HTTP/1.1\r\n", 400},
      {"GET x HTTP/1.1\r\n", 400},
      {"GET /a b HTTP/1.1\r\n", 400},
      {"GET / HTTP/2\r\n", 505},
      {"GET / HTTP/1.1\r\nno colon\r\n", 400},
      {"GET / HTTP/1.1\r\nA : b\r\n", 400},
      {"GET / HTTP/1.1\r\n folded: b\r\n", 400},
      {std::string("GET / HTTP/1.1\r\nA: \0b\r\n", 24), 400},
      {"GET / HTTP/1.1\r\nA: b\nC: d\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: -1\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 1x\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n", 400},
      {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", 411},
  };
  for (const auto& c : cases) {
    HttpHead head;
    const auto refusal = ReadHead(c.head + "\r\n", head);
    ASSERT_TRUE(refusal.has_value()) << c.head;
    EXPECT_EQ(refusal->status, c.status) << c.head;
  }
}

TEST(HttpMessage, WritesAnAnswer) {
  const HttpAnswer answer{.status = 404, .body = "no\n"};
  EXPECT_EQ(WriteAnswer(answer, "GET", true),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 3\r\nConnection: close\r\n\r\nno\n");
  EXPECT_THAT(WriteAnswer(answer, "HEAD", false),
              HasSubstr("Content-Length: 3\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(WriteAnswer(answer, "HEAD", false).ends_with("no\n"));
}

}  // namespace
}  // namespace paceline::telemetry
