#include "lib/telemetry/http_get.h"

#include <atomic>
#include <functional>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/limits.h"

namespace paceline::telemetry {
namespace {

using testing::HasSubstr;

// Takes one connection and one read of it, sends `head`, and then what `body` gives, piece by
// piece, until the client has gone: for that it waits `pace_ms` before each of them.
class Stranger {
 public:
  explicit Stranger(std::function<std::string()> body, int pace_ms = 0,
                    std::string head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n") {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, body = std::move(body), pace_ms, head = std::move(head)] {
      const int client = accept(listener_, nullptr, nullptr);
      char request[4096];
      EXPECT_GT(recv(client, request, sizeof(request), 0), 0);
      bool is_there = send(client, head.data(), head.size(), MSG_NOSIGNAL) > 0;
      pollfd gone{.fd = client, .events = POLLRDHUP, .revents = 0};
      while (is_there && poll(&gone, 1, pace_ms) == 0) {
        const std::string next = body();
        is_there = send(client, next.data(), next.size(), MSG_NOSIGNAL) > 0;
      }
      close(client);
    });
  }
  ~Stranger() {
    thread_.join();
    close(listener_);
  }
  int port() const { return port_; }

 private:
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

TEST(HttpGet, AnAnswerWithoutEndIsLeftWhereTheLimitIs) {
  const std::string chunk(1 << 20, 'x');
  const Stranger stranger([&] { return chunk; });
  const auto answer = HttpGet("127.0.0.1", stranger.port(), "/", Seconds(60));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(answer.status()),
              HasSubstr(fmt::format("beyond {} bytes", limits::kHttpAnswerBytesMax)));
}

TEST(HttpGet, AnAnswerThatTricklesHasAnEnd) {
  const Stranger stranger([] { return std::string("x"); }, /*pace_ms=*/10);
  const auto answer = HttpGet("127.0.0.1", stranger.port(), "/", Seconds(0.3));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(answer.status()), HasSubstr("not whole within 0.3 s"));
}

// So that it can be put into a browser, and its port is told from it.
TEST(HttpGet, AnAddressOfColonsStandsInBrackets) {
  const auto answer = HttpGet("::1", 1, "/healthz", Seconds(5));
  EXPECT_THAT(Message(answer.status()), HasSubstr("http://[::1]:1/healthz: "));
}

// One deadline for all of the exchange: it does not begin anew with each line of the head.
TEST(HttpGet, AHeadThatTricklesHasAnEnd) {
  const Stranger stranger([] { return std::string("X-Line: x\r\n"); }, /*pace_ms=*/10,
                          "HTTP/1.1 200 OK\r\n");
  const auto answer = HttpGet("127.0.0.1", stranger.port(), "/", Seconds(0.3));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(answer.status()), HasSubstr("not whole within 0.3 s"));
}

TEST(HttpGet, AFirstLineThatTricklesHasAnEnd) {
  const Stranger stranger([] { return std::string("1"); }, /*pace_ms=*/10, "HTTP/1.");
  const auto answer = HttpGet("127.0.0.1", stranger.port(), "/", Seconds(0.3));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(answer.status()), HasSubstr("not whole within 0.3 s"));
}

}  // namespace
}  // namespace paceline::telemetry
