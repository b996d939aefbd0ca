// What a client does when the server misbehaves: scripted, since a real one cannot be made to.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/client/client.h"
#include "lib/kube/client/testing/scripted_client.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/testing/scripted_http.h"

namespace paceline::kube {
namespace {

using ::testing::HasSubstr;
using testing::Quick;
using testing::ScriptedConnection;
using testing::ScriptedHttp;
using testing::ScriptedRequest;
using testing::Started;

TEST(ClientFaults, GivesUpAfterABoundedNumberOfTries) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.Answer(503, "down for a while");
  });
  auto client = Started(server);
  const auto got = client->Call(Get(Pods(), {"ns", "p"}));
  EXPECT_EQ(got.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(got.status()), HasSubstr("down for a while"));
  EXPECT_EQ(server.requests(), 5);
}

TEST(ClientFaults, DoesNotRepeatACreationThatMayHaveHappened) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.Close();  // Without an answer.
  });
  auto client = Started(server);
  const auto made = client->Call(Create(Pods(), {{"metadata", {{"name", "p"}}}}));
  EXPECT_EQ(made.status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(ApiErrorOf(made.status()).has_value());
  EXPECT_EQ(server.requests(), 1);
}

TEST(ClientFaults, RepeatsAReadWhoseAnswerIsLost) {
  ScriptedHttp server([](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (request.number < 3) return connection.Close();
    connection.Answer(200, "{}");
  });
  auto client = Started(server);
  EXPECT_TRUE(client->Call(Get(Pods(), {"ns", "p"})).ok());
  EXPECT_EQ(server.requests(), 3);
}

TEST(ClientFaults, ADeadlineCoversAllTries) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.WaitForClose(Seconds(30));
  });
  auto client = Started(server);
  Request request = Get(Pods(), {"ns", "p"});
  request.deadline = Seconds(0.2);
  const auto got = client->Call(request);
  EXPECT_EQ(got.status().code(), StatusCode::kDeadlineExceeded) << got.status();
}

TEST(ClientFaults, ConnectionsAreKeptAndBounded) {
  ScriptedHttp server(
      [](const ScriptedRequest&, ScriptedConnection& connection) { connection.Answer(200, "{}"); });
  ClientOptions options = Quick();
  options.calls_in_flight_max = 4;
  auto client = Started(server, options);
  std::vector<Request> requests(100, Get(Pods(), {"ns", "p"}));
  for (const auto& answer : client->CallAll(requests)) EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(server.requests(), 100);
  EXPECT_LE(server.connections(), 4);
}

TEST(ClientFaults, UrgentCallsDoNotQueue) {
  std::promise<void> may_answer;
  const auto released = may_answer.get_future().share();
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (request.target.find("urgent") == std::string::npos) released.wait();
    connection.Answer(200, "{}");
  });
  ClientOptions options = Quick();
  options.calls_in_flight_max = 1;
  std::atomic<int> answered = 0;
  auto client = Started(server, options);
  for (int i = 0; i < 3; ++i) {
    client->Start(Get(Pods(), {"ns", "p"}), [&](StatusOr<Json>) { ++answered; });
  }
  Request urgent = Get(Leases(), {"ns", "urgent"});
  urgent.is_urgent = true;
  EXPECT_TRUE(client->Call(urgent).ok());
  EXPECT_EQ(answered, 0);
  may_answer.set_value();
}

// A program that answers late or never has no part in the turns of the API server's calls.
TEST(ClientFaults, AnotherServerIsAskedOnceAndHoldsUpNobody) {
  std::promise<void> asked;
  ScriptedHttp silent([&](const ScriptedRequest&, ScriptedConnection&) { asked.set_value(); });
  ScriptedHttp api(
      [](const ScriptedRequest&, ScriptedConnection& connection) { connection.Answer(200, "{}"); });
  ClientOptions options = Quick();
  options.calls_in_flight_max = 1;
  auto client = Started(api, options);
  Config other;
  other.server = silent.url();
  std::promise<StatusOr<Response>> ended;
  CallHandle handle = client->StartElsewhere(
      other, {.path = "/v1/job", .deadline = Seconds(60)}, 100,
      [&](StatusOr<Response> response) { ended.set_value(std::move(response)); });
  asked.get_future().wait();
  EXPECT_TRUE(client->Call(Get(Pods(), {"ns", "p"})).ok());
  handle.Cancel();
  EXPECT_EQ(ended.get_future().get().status().code(), StatusCode::kCancelled);
  EXPECT_EQ(silent.requests(), 1);
}

StatusOr<Response> AskElsewhere(Client& client, Config other, Duration deadline, size_t body_max) {
  std::promise<StatusOr<Response>> ended;
  const CallHandle handle = client.StartElsewhere(
      std::move(other), {.path = "/v1/job", .deadline = deadline}, body_max,
      [&](StatusOr<Response> response) { ended.set_value(std::move(response)); });
  return ended.get_future().get();
}

TEST(ClientFaults, AnotherServersAnswerIsBounded) {
  ScriptedHttp other([](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (request.number == 1) connection.Answer(404, "who?");
    if (request.number == 2) connection.Answer(200, std::string(101, 'x'));
  });
  auto client = Started(other);
  const auto answer = AskElsewhere(*client, client->config(), Seconds(20), 100);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->code, 404);
  EXPECT_EQ(answer->body, "who?");
  const auto endless = AskElsewhere(*client, client->config(), Seconds(20), 100);
  EXPECT_EQ(endless.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(endless.status()), HasSubstr("more than 100 bytes"));
  const auto late = AskElsewhere(*client, client->config(), Seconds(0.2), 100);
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(other.requests(), 3);
}

TEST(ClientFaults, WaitingForATurnIsNotCountedAsLateness) {
  ScriptedHttp server([&](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.WaitForClose(Seconds(0.05));  // That long for each.
    connection.Answer(200, "{}");
  });
  ClientOptions options = Quick();
  options.calls_in_flight_max = 1;
  options.deadline = Seconds(1);
  auto client = Started(server, options);
  const std::vector<Request> requests(30, Get(Pods(), {"ns", "p"}));
  for (const auto& answer : client->CallAll(requests)) EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST(ClientFaults, ObserversSeeEveryAttempt) {
  ScriptedHttp server([](const ScriptedRequest& request, ScriptedConnection& connection) {
    connection.Answer(request.number == 1 ? 500 : 200, "{}");
  });
  std::mutex mutex;
  std::vector<std::string> seen;
  ClientOptions options = Quick();
  options.observe = [&](const CallRecord& record) {
    std::lock_guard lock(mutex);
    seen.push_back(
        fmt::format("{} {} {} {}", record.verb, record.resource, record.code, record.attempt));
  };
  {
    auto client = Started(server, options);
    ASSERT_TRUE(client->Call(Get(Pods(), {"ns", "p"}, "status")).ok());
  }
  EXPECT_THAT(seen, ::testing::ElementsAre("get pods/status 500 1", "get pods/status 200 2"));
}

TEST(ClientFaults, HeadersSayWhoAsks) {
  std::promise<ScriptedRequest> seen;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    seen.set_value(request);
    connection.Answer(200, "{}");
  });
  Config config;
  config.server = server.url() + "/prefix/";
  config.token.data = "secret";
  config.impersonate = {
      .user = "jane", .uid = "u", .groups = {"a", "b"}, .extra = {{"x/y", {"z"}}}};
  auto client = Client::Create(config, {.user_agent = "example/1"});
  ASSERT_TRUE((*client)->Call(Get(Pods(), {"ns", "p"})).ok());
  const ScriptedRequest request = seen.get_future().get();
  EXPECT_EQ(request.target, "/prefix/api/v1/namespaces/ns/pods/p");
  EXPECT_EQ(request.headers.at("authorization"), "Bearer secret");
  EXPECT_EQ(request.headers.at("user-agent"), "example/1");
  EXPECT_EQ(request.headers.at("impersonate-user"), "jane");
  EXPECT_EQ(request.headers.at("impersonate-uid"), "u");
  EXPECT_EQ(request.headers.at("impersonate-group"), "b");
  EXPECT_EQ(request.headers.at("impersonate-extra-x%2fy"), "z");
  EXPECT_EQ(request.headers.at("accept-encoding"), "gzip");
}

// Collects what a watch tells.
struct Watched {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> names;
  std::optional<Status> end;

  WatchHandler Handler() {
    return {.event =
                [this](WatchEvent event) {
                  std::lock_guard lock(mutex);
                  names.push_back(StringAt(event.object, "/metadata/name"));
                  changed.notify_all();
                },
            .end =
                [this](Status status) {
                  std::lock_guard lock(mutex);
                  end = std::move(status);
                  changed.notify_all();
                }};
  }
  Status WaitForEnd() {
    std::unique_lock lock(mutex);
    const bool has_ended =
        changed.wait_for(lock, std::chrono::seconds(30), [&] { return end.has_value(); });
    return has_ended ? *end : Internal("the watch does not end");
  }
};

std::string Added(const std::string& name) {
  return fmt::format(R"({{"type":"ADDED","object":{{"metadata":{{"name":"{}"}}}}}})", name) + "\n";
}

TEST(ClientFaults, AWatchIsReadHoweverItsFramesAreSplit) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.StartChunks();
    const std::string text = Added("a") + Added("b");
    for (size_t i = 0; i < text.size(); i += 7) connection.Chunk(text.substr(i, 7));
    connection.EndChunks();
  });
  auto client = Started(server);
  Watched watched;
  const CallHandle watch = client->StartWatch(Pods(), {.resource_version = "1"}, watched.Handler());
  EXPECT_TRUE(watched.WaitForEnd().ok());
  EXPECT_THAT(watched.names, ::testing::ElementsAre("a", "b"));
}

TEST(ClientFaults, ASilentWatchIsTakenForDead) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.StartChunks();
    connection.Chunk(Added("a"));
    connection.WaitForClose(Seconds(60));
  });
  ClientOptions options = Quick();
  options.watch_idle_timeout = Seconds(1);
  auto client = Started(server, options);
  Watched watched;
  const CallHandle watch = client->StartWatch(Pods(), {.resource_version = "1"}, watched.Handler());
  EXPECT_EQ(watched.WaitForEnd().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(watched.names, ::testing::ElementsAre("a"));
}

TEST(ClientFaults, AWatchThatBreaksOffIsUnavailable) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.StartChunks();
    connection.Chunk(Added("a").substr(0, 20));
    connection.Close();
  });
  auto client = Started(server);
  Watched watched;
  const CallHandle watch = client->StartWatch(Pods(), {.resource_version = "1"}, watched.Handler());
  EXPECT_EQ(watched.WaitForEnd().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(watched.names.empty());
}

TEST(ClientFaults, AnErrorEventEndsTheWatch) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.StartChunks();
    connection.Chunk(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})"
                     "\n");
    connection.WaitForClose(Seconds(60));
  });
  auto client = Started(server);
  Watched watched;
  const CallHandle watch = client->StartWatch(Pods(), {.resource_version = "1"}, watched.Handler());
  EXPECT_TRUE(IsExpired(watched.WaitForEnd()));
}

TEST(ClientFaults, ARefusedWatchTellsWhy) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.Answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})");
  });
  auto client = Started(server);
  Watched watched;
  const CallHandle watch = client->StartWatch(Pods(), {}, watched.Handler());
  EXPECT_TRUE(IsForbidden(watched.WaitForEnd()));
}

TEST(ClientFaults, DestructionEndsWhatIsRunning) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.WaitForClose(Seconds(60));
  });
  Watched watched;
  std::optional<Status> called;
  CallHandle watch;
  {
    auto client = Started(server);
    watch = client->StartWatch(Pods(), {}, watched.Handler());
    client->Start(Get(Pods(), {"ns", "p"}), [&](StatusOr<Json> got) { called = got.status(); });
  }
  EXPECT_EQ(called->code(), StatusCode::kCancelled);
  EXPECT_EQ(watched.WaitForEnd().code(), StatusCode::kCancelled);
}

TEST(ClientFaults, AHandleThatGoesCancelsItsWatch) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.StartChunks();
    connection.WaitForClose(Seconds(60));
  });
  auto client = Started(server);
  Watched watched;
  { const CallHandle watch = client->StartWatch(Pods(), {}, watched.Handler()); }
  EXPECT_EQ(watched.WaitForEnd().code(), StatusCode::kCancelled);
}

TEST(ClientFaults, AnExpiredContinueTokenListsAgainWithoutPages) {
  ScriptedHttp server([](const ScriptedRequest& request, ScriptedConnection& connection) {
    const auto has = [&](const char* text) {
      return request.target.find(text) != std::string::npos;
    };
    if (has("continue=t1")) {
      connection.Answer(410, R"({"kind":"Status","code":410,"reason":"Expired"})");
    } else if (has("limit=")) {
      connection.Answer(200, R"({"kind":"PodList","apiVersion":"v1",
        "metadata":{"resourceVersion":"5","continue":"t1"},"items":[{"metadata":{"name":"a"}}]})");
    } else {
      connection.Answer(200, R"({"kind":"PodList","apiVersion":"v1",
        "metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})");
    }
  });
  auto client = Started(server);
  const auto all = client->ListAll(Pods(), {.limit = 1});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->resource_version, "9");
  ASSERT_EQ(all->items.size(), 2u);
  EXPECT_EQ(all->items[1]["kind"], "Pod");
  EXPECT_EQ(all->items[1]["apiVersion"], "v1");
}

TEST(ClientFaults, A401IsTriedOnceMoreWithFreshCredentials) {
  ScriptedHttp server([](const ScriptedRequest& request, ScriptedConnection& connection) {
    connection.Answer(request.headers.at("authorization") == "Bearer old" ? 401 : 200, "{}");
  });
  Config config;
  config.server = server.url();
  config.exec.command = "/bin/sh";
  config.exec.arguments = {"-c",
                           R"(if mkdir "$DIR"/ran 2>/dev/null; then t=old; else t=new; fi
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$t'"}}')"};
  std::string folder = "/tmp/kube-exec-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  config.exec.environment = {{"DIR", folder}};
  auto client = Client::Create(config, Quick());
  const auto got = (*client)->Call(Get(Pods(), {"ns", "p"}));
  EXPECT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(server.requests(), 2);
  rmdir((folder + "/ran").c_str());
  rmdir(folder.c_str());
}

TEST(ClientFaults, AFixedTokenIsNotTriedTwice) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection& connection) {
    connection.Answer(401, R"({"kind":"Status","code":401,"reason":"Unauthorized"})");
  });
  auto client = Started(server);
  EXPECT_TRUE(IsUnauthorized(client->Call(Get(Pods(), {"ns", "p"})).status()));
  EXPECT_EQ(server.requests(), 1);
}

TEST(ClientFaults, AConfigThatCannotWorkIsRefusedAtOnce) {
  Config config;
  EXPECT_THAT(Message(Client::Create(config).status()), HasSubstr("server is no URL"));
  config.server = "https://x";
  config.certificate_authority.file = "/no/ca.crt";
  EXPECT_THAT(Message(Client::Create(config).status()), HasSubstr("/no/ca.crt"));
  config.certificate_authority = {};
  config.client_key.data = "k";
  EXPECT_THAT(Message(Client::Create(config).status()), HasSubstr("only one of them"));
}

TEST(ClientFaults, NobodyThereIsToldWithTheAddress) {
  std::string url;
  {
    ScriptedHttp gone([](const ScriptedRequest&, ScriptedConnection&) {});
    url = gone.url();
  }
  Config config;
  config.server = url;
  auto client = Client::Create(config, Quick());
  const auto made = (*client)->Call(Create(Pods(), {{"metadata", {{"name", "p"}}}}));
  EXPECT_EQ(made.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(made.status()), HasSubstr(url));
  EXPECT_THAT(Message(made.status()), HasSubstr("attempt 5"));  // Never sent: safe to repeat.
}

TEST(EventLoops, RunTimersInOrderAndCancelThem) {
  ScriptedHttp server([](const ScriptedRequest&, ScriptedConnection&) {});
  auto client = Started(server);
  EventLoop& loop = client->loop();
  std::vector<int> ran;
  std::promise<void> last;
  loop.RunAndWait([&] {
    loop.After(Seconds(0.03), [&] {
      ran.push_back(3);
      last.set_value();
    });
    loop.After(Seconds(0.01), [&] { ran.push_back(1); });
    const EventLoop::TimerId cancelled = loop.After(Seconds(0.02), [&] { ran.push_back(2); });
    EXPECT_TRUE(loop.Cancel(cancelled));
    EXPECT_FALSE(loop.Cancel(cancelled));
    EXPECT_TRUE(loop.IsLoopThread());
  });
  EXPECT_FALSE(loop.IsLoopThread());
  last.get_future().wait();
  EXPECT_THAT(ran, ::testing::ElementsAre(1, 3));
}

}  // namespace
}  // namespace paceline::kube
