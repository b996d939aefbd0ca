#include "lib/telemetry/http_endpoint.h"

#include <atomic>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/telemetry/http_get.h"

namespace paceline::telemetry {
namespace {

using testing::HasSubstr;

std::unique_ptr<HttpEndpoint> Started(std::vector<HttpRoute> routes) {
  auto endpoint = HttpEndpoint::Start({.routes = std::move(routes)});
  EXPECT_TRUE(endpoint.ok()) << endpoint.status();
  return *std::move(endpoint);
}

StatusOr<std::string> Get(const HttpEndpoint& endpoint, const std::string& path) {
  return HttpGet("127.0.0.1", endpoint.port(), path, Seconds(10));
}

// Sends `request` as it stands and gives back all that comes.
std::string Raw(int port, const std::string& request) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(send(descriptor, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char chunk[4096];
  for (ssize_t n = 0; (n = recv(descriptor, chunk, sizeof(chunk), 0)) > 0;) {
    answer.append(chunk, static_cast<size_t>(n));
  }
  close(descriptor);
  return answer;
}

TEST(HttpEndpoint, ServesMetrics) {
  Metrics metrics;
  metrics.OneGauge("paceline_workers", "Workers.").Set(4);
  const auto endpoint = Started({MetricsRoute(metrics)});
  EXPECT_THAT(Get(*endpoint, "/metrics").value(), HasSubstr("paceline_workers 4\n"));
  EXPECT_THAT(
      Raw(endpoint->port(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
      HasSubstr("Content-Type: text/plain; version=0.0.4"));
}

TEST(HttpEndpoint, SaysWhyItIsNotReady) {
  std::atomic<bool> is_open = false;
  const auto endpoint =
      Started({HealthRoute(), ReadinessRoute([&] {
                 return is_open ? OkStatus() : FailedPrecondition("waits for shard s1");
               })});
  EXPECT_EQ(Get(*endpoint, "/healthz").value(), "ok\n");
  const Status waiting = Get(*endpoint, "/readyz").status();
  EXPECT_EQ(waiting.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(waiting), HasSubstr("503 waits for shard s1"));
  is_open = true;
  EXPECT_EQ(Get(*endpoint, "/readyz").value(), "ok\n");
}

TEST(HttpEndpoint, SaysWhyItIsNotWell) {
  const auto endpoint =
      Started({HealthRoute([] { return Unavailable("the driver has not turned for 31 s"); })});
  EXPECT_THAT(Message(Get(*endpoint, "/healthz").status()),
              HasSubstr("503 the driver has not turned for 31 s"));
}

TEST(HttpEndpoint, HandsOverPathQueryAndBody) {
  const HttpAnswerer echo = [](const HttpRequest& request) {
    std::string body = request.method + " " + request.path + " " + request.body;
    for (const auto& [name, value] : request.query) body += fmt::format(" {}={}", name, value);
    return HttpAnswer{.content_type = "text/x-echo", .body = body};
  };
  const auto endpoint = Started({{"/v1/job", echo}, {"/v1/job/spec", echo, "PUT"}});
  EXPECT_EQ(Get(*endpoint, "/v1/job?since=3&name=a%20b").value(), "GET /v1/job  name=a b since=3");
  const std::string answer = Raw(
      endpoint->port(),
      "PUT /v1/job/spec HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(answer, HasSubstr("PUT /v1/job/spec abc"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/x-echo"));
}

TEST(HttpEndpoint, AnUnknownPathIsAnsweredWithTheKnownOnes) {
  const auto endpoint = Started({HealthRoute()});
  const Status status = Get(*endpoint, "/health").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("GET /healthz"));
}

TEST(HttpEndpoint, TheWrongMethodIsRefused) {
  const auto endpoint = Started({HealthRoute()});
  EXPECT_THAT(
      Raw(endpoint->port(),
          "POST /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
      HasSubstr("HTTP/1.1 405"));
}

TEST(HttpEndpoint, ATooLongBodyIsRefused) {
  auto endpoint = HttpEndpoint::Start(
      {.routes = {{"/v1/job", [](const HttpRequest&) { return HttpAnswer{}; }, "PUT"}},
       .body_bytes_max = 4});
  ASSERT_TRUE(endpoint.ok());
  EXPECT_THAT(
      Raw((*endpoint)->port(),
          "PUT /v1/job HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde"),
      HasSubstr("HTTP/1.1 413"));
}

TEST(HttpEndpoint, APortInUseIsNamed) {
  const auto first = Started({HealthRoute()});
  const auto second = HttpEndpoint::Start({.port = first->port(), .routes = {HealthRoute()}});
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(second.status()),
            fmt::format("cannot listen on 127.0.0.1:{}: Address already in use", first->port()));
}

TEST(HttpEndpoint, AForeignAddressIsNamed) {
  const auto endpoint = HttpEndpoint::Start({.host = "192.0.2.1", .port = 8080});
  EXPECT_EQ(endpoint.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(endpoint.status()), HasSubstr("192.0.2.1:8080: Cannot assign"));
}

TEST(HttpEndpoint, StopFreesThePortAndIsIdempotent) {
  const auto first = Started({HealthRoute()});
  const int port = first->port();
  ASSERT_TRUE(Get(*first, "/healthz").ok());
  first->Stop();
  first->Stop();
  EXPECT_EQ(HttpGet("127.0.0.1", port, "/healthz", Seconds(10)).status().code(),
            StatusCode::kUnavailable);
  EXPECT_TRUE(HttpEndpoint::Start({.port = port}).ok());
}

TEST(HttpEndpoint, StartsAndStopsManyTimes) {
  for (int i = 0; i < 50; ++i) Started({HealthRoute()});
}

TEST(HttpEndpoint, AnswersManyClientsAtOnce) {
  std::atomic<int> answered = 0;
  const auto endpoint = Started({{"/count", [&](const HttpRequest&) {
                                    return HttpAnswer{.body = std::to_string(++answered)};
                                  }}});
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&] {
      for (int i = 0; i < 25; ++i) EXPECT_TRUE(Get(*endpoint, "/count").ok());
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 100);
}

// With and without the brackets that an address of IPv6 has in a URL.
TEST(HttpEndpoint, IsFoundUnderAnAddressOfIpv6) {
  const auto endpoint = HttpEndpoint::Start(
      {.host = "[::1]", .routes = {{"/host", [](const HttpRequest& request) {
                                      return HttpAnswer{.body =
                                                            request.headers.find("host")->second};
                                    }}}});
  if (!endpoint.ok() && Message(endpoint.status()).find("Cannot assign") != std::string::npos)
    GTEST_SKIP() << "this machine has no ::1";
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  const int port = (*endpoint)->port();
  for (const char* host : {"::1", "[::1]"}) {
    const auto answer = HttpGet(host, port, "/host", Seconds(10));
    ASSERT_TRUE(answer.ok()) << host << ": " << answer.status();
    EXPECT_EQ(*answer, fmt::format("[::1]:{}", port));
  }
}

}  // namespace
}  // namespace paceline::telemetry
