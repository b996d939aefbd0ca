// An HTTP endpoint among clients that are silent, slow, greedy or many.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/limits.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/http_endpoint.h"
#include "lib/telemetry/listening_socket.h"

namespace paceline::telemetry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProbe = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
constexpr const char* kScrape = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

// A connection from 127.0.0.`from`.
class Client {
 public:
  explicit Client(const HttpEndpoint& endpoint, int from = 1)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{}, other{};
    own.sin_family = other.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<uint32_t>(from - 1));
    other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    other.sin_port = htons(static_cast<uint16_t>(endpoint.port()));
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&other), sizeof(other)), 0);
  }

  bool Send(std::string_view bytes) {
    return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  // Until it ends with `end`, or the server closes, or nothing comes for ten seconds.
  std::string Receive(std::string_view end = "\xff") {
    std::string got;
    std::array<char, 64 << 10> chunk;
    while (!got.ends_with(end) && IsReadable(10'000)) {
      const ssize_t count = recv(socket_.get(), chunk.data(), chunk.size(), 0);
      if (count <= 0) break;
      got.append(chunk.data(), static_cast<size_t>(count));
    }
    return got;
  }

  bool IsReadable(int wait_ms) {
    pollfd poll_for{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    return poll(&poll_for, 1, wait_ms) == 1;
  }

  // The server has closed it, or does so soon.
  bool IsClosed() {
    char byte;
    return IsReadable(10'000) && recv(socket_.get(), &byte, 1, MSG_DONTWAIT) <= 0;
  }
  bool IsOpen() { return !IsReadable(0); }

 private:
  OwnedSocket socket_;
};

std::string Ask(const HttpEndpoint& endpoint, const std::string& request) {
  Client client(endpoint);
  EXPECT_TRUE(client.Send(request));
  return client.Receive();
}

std::unique_ptr<HttpEndpoint> Started(std::vector<HttpRoute> routes) {
  routes.push_back(HealthRoute());
  auto endpoint = HttpEndpoint::Start({.routes = std::move(routes)});
  EXPECT_TRUE(endpoint.ok()) << endpoint.status();
  return *std::move(endpoint);
}

HttpRoute Large(const std::string& path, size_t bytes) {
  return {path,
          [bytes](const HttpRequest&) { return HttpAnswer{.body = std::string(bytes, 'x')}; }};
}

// How many connections this process, which holds both ends of each, may have.
size_t Affordable(size_t wanted) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NOFILE, &files);
  const size_t affordable = std::min<size_t>(wanted, files.rlim_cur / 2 - 600);
  if (affordable < wanted)
    std::printf("only %zu of %zu connections: RLIMIT_NOFILE\n", affordable, wanted);
  return affordable;
}

std::vector<Client> Silent(const HttpEndpoint& endpoint, size_t count) {
  std::vector<Client> clients;
  for (size_t i = 0; i < count; ++i) clients.emplace_back(endpoint, static_cast<int>(2 + i % 10));
  return clients;
}

TEST(HttpStrangers, ProbesAreAnsweredAmongTenThousandSilentOnes) {
  const size_t count = Affordable(10'000);
  const auto endpoint = Started({Large("/metrics", 150'000)});
  std::vector<Client> silent = Silent(*endpoint, count);
  std::vector<Client> tricklers = Silent(*endpoint, 200);
  std::promise<void> over;
  const auto is_over = [end = over.get_future().share()](std::chrono::milliseconds wait) {
    return end.wait_for(wait) == std::future_status::ready;
  };
  constexpr std::chrono::milliseconds kAtOnce(0), kTrickle(20);
  std::atomic<int> scrapes = 0;
  std::vector<std::thread> busy;
  busy.emplace_back([&] {
    for (size_t i = 0; !is_over(i == 0 ? kTrickle : kAtOnce); i = (i + 1) % 200)
      tricklers[i].Send("G");
  });
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      while (!is_over(kAtOnce)) scrapes += Ask(*endpoint, kScrape).size() > 150'000 ? 1 : 0;
    });
  }
  std::vector<double> seconds;
  for (int i = 0; i < 21; ++i) {
    const Time start = SteadyNow();
    EXPECT_THAT(Ask(*endpoint, kProbe), HasSubstr("200 OK"));
    seconds.push_back(ToSeconds(SteadyNow() - start));
  }
  over.set_value();
  for (std::thread& thread : busy) thread.join();
  std::sort(seconds.begin(), seconds.end());
  std::printf(
      "%zu silent, 200 trickling, %d scrapes: probes took %.1f to %.1f ms, median %.1f ms\n", count,
      scrapes.load(), 1e3 * seconds.front(), 1e3 * seconds.back(),
      1e3 * seconds[seconds.size() / 2]);
  // Half of a kubelet's patience; the slowest is this machine's to excuse.
  EXPECT_LT(seconds[seconds.size() / 2], 1);
  EXPECT_GT(scrapes, 0);
  EXPECT_TRUE(std::all_of(silent.begin(), silent.end(), [](Client& c) { return c.IsOpen(); }));
}

TEST(HttpStrangers, TheOldestOfTheSamePeerGivesWay) {
  const size_t cap = Affordable(limits::kHttpConnectionsPerPeerMax);
  ASSERT_EQ(cap, limits::kHttpConnectionsPerPeerMax) << "needs more descriptors";
  const auto endpoint = Started({});
  Client other(*endpoint, 2);
  std::vector<Client> many;
  for (size_t i = 0; i < cap + 10; ++i) many.emplace_back(*endpoint);
  EXPECT_THAT(Ask(*endpoint, kProbe), HasSubstr("200 OK"));
  for (size_t i = 0; i < 11; ++i) EXPECT_TRUE(many[i].IsClosed()) << i;
  EXPECT_TRUE(many[11].IsOpen());
  EXPECT_TRUE(many.back().IsOpen());
  EXPECT_TRUE(other.IsOpen());
}

TEST(HttpStrangers, AWholeRequestHasOneDeadline) {
  auto endpoint = HttpEndpoint::Start(
      {.routes = {HealthRoute()}, .request_longest = std::chrono::milliseconds(500)});
  ASSERT_TRUE(endpoint.ok());
  Client head(**endpoint), body(**endpoint);
  EXPECT_TRUE(body.Send("PUT /healthz HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"));
  // Each byte comes in good time, all of them never would.
  while (!head.IsReadable(20) || !body.IsReadable(0)) {
    head.Send("G");
    body.Send("x");
  }
  EXPECT_THAT(head.Receive(), HasSubstr("408 Request Timeout"));
  EXPECT_THAT(body.Receive(), HasSubstr("a request must be whole within 0.5 s"));
}

TEST(HttpStrangers, ProbesPassWhoeverBlocks) {
  std::promise<void> opened;
  std::shared_future<void> gate(opened.get_future());
  const auto endpoint = Started({{"/slow", [gate](const HttpRequest&) {
                                    gate.wait();
                                    return HttpAnswer{.body = "late\n"};
                                  }}});
  std::vector<Client> blocked;
  const size_t count = limits::kHttpRequestsWaitingMax + 20;
  for (size_t i = 0; i < count; ++i) {
    blocked.emplace_back(*endpoint);
    EXPECT_TRUE(blocked.back().Send("GET /slow HTTP/1.1\r\nConnection: close\r\n\r\n"));
  }
  EXPECT_THAT(Ask(*endpoint, kProbe), HasSubstr("200 OK"));
  opened.set_value();
  size_t answered = 0, refused = 0;
  for (Client& client : blocked) {
    const std::string answer = client.Receive();
    answered += answer.ends_with("late\n") ? 1 : 0;
    refused += answer.find("503 Service Unavailable") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(answered + refused, count);
  EXPECT_GE(answered, limits::kHttpRequestsWaitingMax);
  EXPECT_GE(refused, 10u);
}

TEST(HttpStrangers, WhoDoesNotReadHoldsNoThread) {
  const auto endpoint = Started({Large("/metrics", 6'000'000)});
  std::vector<Client> greedy;
  for (int i = 0; i < 8; ++i) {
    greedy.emplace_back(*endpoint, 2);
    EXPECT_TRUE(greedy.back().Send(kScrape));
  }
  for (Client& client : greedy) EXPECT_TRUE(client.IsReadable(10'000));
  EXPECT_GT(Ask(*endpoint, kScrape).size(), 6'000'000u);
  EXPECT_THAT(Ask(*endpoint, kProbe), HasSubstr("200 OK"));
}

// Four answers would fit: the first reader gives way to the fifth, who reads.
TEST(HttpStrangers, WhoHasReadLeastRecentlyGivesWayWhenMemoryIsFull) {
  const size_t size = limits::kHttpHeldBytesMax / 4 - 1'000;
  const auto endpoint = Started({Large("/metrics", size)});
  std::vector<Client> greedy;
  for (int i = 0; i < 4; ++i) {
    greedy.emplace_back(*endpoint, 2);
    EXPECT_TRUE(greedy.back().Send(kScrape));
    EXPECT_TRUE(greedy.back().IsReadable(10'000));
  }
  EXPECT_GT(Ask(*endpoint, kScrape).size(), size);
  EXPECT_LT(greedy[0].Receive().size(), size);
  EXPECT_GT(greedy[3].Receive().size(), size);
}

TEST(HttpStrangers, AHeadWithoutEndIsRefused) {
  const auto endpoint = Started({});
  const std::string line = "GET /healthz HTTP/1.1\r\nA: ";
  EXPECT_THAT(Ask(*endpoint, line + std::string(limits::kHttpHeadBytesMax, 'x')),
              HasSubstr("431 Request Header Fields Too Large"));
  EXPECT_THAT(Ask(*endpoint, line + std::string(15'000, 'x') + "\r\nConnection: close\r\n\r\n"),
              HasSubstr("200 OK"));
}

TEST(HttpStrangers, AnAnswerIsNeitherPackedNorMultiplied) {
  const auto endpoint = Started({Large("/metrics", 150'000)});
  const std::string answer =
      Ask(*endpoint,
          "GET /metrics HTTP/1.1\r\nAccept-Encoding: br, gzip\r\nRange: bytes=0-,0-,0-"
          "\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, Not(HasSubstr("Content-Encoding")));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + std::string(150'000, 'x')));
}

TEST(HttpStrangers, OneConnectionCarriesManyRequests) {
  const HttpAnswerer echo = [](const HttpRequest& request) {
    return HttpAnswer{.body = "<" + request.body + ">"};
  };
  const auto endpoint = Started({{"/echo", echo, "PUT"}});
  Client client(*endpoint);
  const std::string put = "PUT /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
  EXPECT_TRUE(client.Send(put + "a"));
  EXPECT_TRUE(client.Send("bc"));
  EXPECT_THAT(client.Receive("<abc>"), HasSubstr("Connection: keep-alive"));
  EXPECT_TRUE(client.Send(put + "def" + put + "ghi"));  // The second before the first is answered.
  EXPECT_THAT(client.Receive("<ghi>"), HasSubstr("<def>HTTP/1.1 200 OK"));
  EXPECT_TRUE(
      client.Send("PUT /echo HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.Receive("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(client.Send("j"));
  EXPECT_THAT(client.Receive("<j>"), HasSubstr("200 OK"));
  EXPECT_TRUE(client.IsOpen());
}

TEST(HttpStrangers, AnExceptionIsAnAnswer) {
  const auto endpoint = Started(
      {{"/throws", [](const HttpRequest&) -> HttpAnswer { throw std::runtime_error("broken"); }}});
  EXPECT_THAT(Ask(*endpoint, "GET /throws HTTP/1.0\r\n\r\n"), HasSubstr("broken"));
}

TEST(HttpStrangers, StopWaitsForNobodySilent) {
  const auto endpoint = Started({Large("/metrics", 30'000'000)});
  std::vector<Client> silent = Silent(*endpoint, 300);
  Client greedy(*endpoint);
  EXPECT_TRUE(greedy.Send(kScrape));
  EXPECT_TRUE(greedy.IsReadable(10'000));
  const Time start = SteadyNow();
  endpoint->Stop();
  EXPECT_LT(ToSeconds(SteadyNow() - start), limits::kHttpIdleSecondsMax / 4);
  for (Client& client : silent) EXPECT_TRUE(client.IsClosed());
}

// All descriptors that this process may still have, and the limit lowered to few more than it has.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(OwnedSocket(dup(0)).get()) + 8;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int descriptor = 0; (descriptor = dup(0)) >= 0;) taken_.emplace_back(descriptor);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  void GiveBack(size_t count) { taken_.resize(taken_.size() - count); }

 private:
  rlimit before_{};
  std::vector<OwnedSocket> taken_;
};

// A supervisor that hears nothing can only say that the process hangs.
TEST(HttpStrangers, AProbeIsToldThatThereAreNoDescriptors) {
  const auto endpoint = Started({});
  {
    NoDescriptors none;
    none.GiveBack(1);  // The client's own.
    const std::string answer = Ask(*endpoint, kProbe);
    EXPECT_THAT(answer, HasSubstr("503 "));
    EXPECT_THAT(answer, HasSubstr("see the limit of open files, "));
  }
  EXPECT_THAT(Ask(*endpoint, kProbe), HasSubstr("200 OK"));
}

}  // namespace
}  // namespace paceline::telemetry
