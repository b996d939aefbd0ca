// How fast a client asks: as fast as the server answers, and not before it says.
#include <chrono>
#include <future>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "lib/kube/client/client.h"
#include "lib/kube/client/testing/scripted_client.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/testing/scripted_http.h"

namespace paceline::kube {
namespace {

using testing::ScriptedConnection;
using testing::ScriptedHttp;
using testing::ScriptedRequest;
using testing::Started;

TEST(ClientPace, ComesBackAfter429) {
  ScriptedHttp server([](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (request.number < 3) {
      connection.Answer(429, "{}", "Retry-After: 0\r\n");
    } else {
      connection.Answer(201, request.body);
    }
  });
  auto client = Started(server);
  const auto made = client->Call(Create(Pods(), {{"metadata", {{"name", "p"}}}}));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(StringAt(*made, "/metadata/name"), "p");
  EXPECT_EQ(server.requests(), 3);
}

// Longer than any pause of the client's own.
TEST(ClientPace, ComesBackNoSoonerThanA429Says) {
  std::mutex mutex;
  std::vector<std::chrono::steady_clock::time_point> attempts;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    const std::lock_guard lock(mutex);
    attempts.push_back(std::chrono::steady_clock::now());
    if (request.number == 1) {
      connection.Answer(429, "{}", "Retry-After: 1\r\n");
    } else {
      connection.Answer(201, request.body);
    }
  });
  auto client = Started(server);
  EXPECT_TRUE(client->Call(Create(Pods(), {{"metadata", {{"name", "p"}}}})).ok());
  const std::lock_guard lock(mutex);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_GE(attempts[1] - attempts[0], Seconds(1));
}

TEST(ClientPace, ADelayThatTheDeadlineForbidsIsNotWaitedFor) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.Answer(429, "{}", "Retry-After: 1000\r\n");
  });
  auto client = Started(server);
  const auto got = client->Call(Get(Pods(), {"ns", "p"}));
  EXPECT_TRUE(IsTooManyRequests(got.status())) << got.status();
  EXPECT_EQ(server.requests(), 1);
}

// What nobody waits out any more says when to come back, for whoever asks next.
TEST(ClientPace, A429ThatIsGivenUpSaysWhenToComeBack) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.Answer(429, "too many requests, please try again later", "Retry-After: 60\r\n");
  });
  auto client = Started(server);
  EXPECT_EQ(RetryAfter(client->Call(Get(Pods(), {"ns", "p"})).status()), Seconds(60));
  std::promise<Status> end;
  const CallHandle watch = client->StartWatch(
      Pods(), {},
      {.event = [](WatchEvent) { FAIL(); }, .end = [&](Status status) { end.set_value(status); }});
  EXPECT_EQ(RetryAfter(end.get_future().get()), Seconds(60));
}

// A limit of queries per second, as other clients have it (5, or 50), would take minutes.
TEST(ClientPace, NoCallWaitsForAnythingButAnswers) {
  ScriptedHttp server(
      [](const ScriptedRequest&, ScriptedConnection& connection) { connection.Answer(200, "{}"); });
  auto client = Started(server, ClientOptions());
  const auto start = std::chrono::steady_clock::now();
  std::vector<Request> requests(3000, Get(Pods(), {"ns", "p"}));
  for (const auto& answer : client->CallAll(requests)) EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_LT(std::chrono::steady_clock::now() - start, Seconds(15));
}

}  // namespace
}  // namespace paceline::kube
