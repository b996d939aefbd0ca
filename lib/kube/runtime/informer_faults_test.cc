// What an informer makes of a server that misbehaves.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/runtime/informer.h"
#include "lib/kube/testing/scripted_http.h"

namespace paceline::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptedConnection;
using testing::ScriptedHttp;
using testing::ScriptedRequest;

bool Asks(const ScriptedRequest& request, const std::string& text) {
  return request.target.find(text) != std::string::npos;
}

std::string Item(const std::string& name, int version) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"ns","name":"{0}","uid":"u-{0}","resourceVersion":"{1}"}}}})",
      name, version);
}

std::string PodList(int version, const std::string& items) {
  return fmt::format(
      R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{}"}},"items":[{}]}})",
      version, items);
}

std::string Event(const char* type, const std::string& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, object) + "\n";
}

// Writes down what an informer says, and lets a test wait for it.
class Told {
 public:
  InformerHandler Handler() {
    return {.changed =
                [this](const ObjectChange& change) {
                  Add((!change.before ? "+"
                       : change.after ? "~"
                                      : "-") +
                      Name(*change.object()) + (change.is_initial ? " first" : ""));
                },
            .failed = [this](const std::string& what, const Status&) { Add("failed " + what); },
            .synced = [this] { Add("synced"); }};
  }
  std::vector<std::string> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(30), [&] { return told_.size() >= count; }));
    return told_;
  }

 private:
  void Add(std::string text) {
    std::lock_guard lock(mutex_);
    told_.push_back(std::move(text));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
};

std::unique_ptr<Client> Started(const ScriptedHttp& server, Duration idle = Seconds(60)) {
  Config config;
  config.server = server.url();
  return Client::Create(config, {.attempts_max = 1, .watch_idle_timeout = idle}).value();
}

InformerOptions Quick() {
  return {.resource = Pods(), .backoff_min = Seconds(0.002), .backoff_max = Seconds(0.02)};
}

TEST(InformerFaults, GoesOnFromTheLastBookmarkAfterACut) {
  std::mutex mutex;
  std::vector<std::string> watches;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (!Asks(request, "watch=true")) {
      connection.Answer(200, PodList(5, Item("a", 3)));
      return;
    }
    size_t number = 0;
    {
      std::lock_guard lock(mutex);
      const size_t at = request.target.find("resourceVersion=");
      watches.push_back(request.target.substr(at, request.target.find('&', at) - at));
      number = watches.size();
    }
    connection.StartChunks();
    if (number == 1) {
      connection.Chunk(Event("ADDED", Item("b", 7)));
      connection.Chunk(Event("BOOKMARK", R"({"metadata":{"resourceVersion":"9"}})"));
      connection.Close();  // In the middle of the answer.
    } else if (number == 2) {
      connection.Chunk(Event("ADDED", Item("c", 12)));
      connection.EndChunks();  // As after timeoutSeconds.
    } else {
      connection.Chunk(Event("DELETED", Item("a", 15)));
      connection.WaitForClose(Seconds(30));
    }
  });
  auto client = Started(server);
  Told told;
  Informer informer(*client, Quick(), told.Handler());
  informer.Start();
  EXPECT_THAT(told.WaitFor(6), ElementsAre("+a first", "synced", "+b", "failed watch", "+c", "-a"));
  EXPECT_EQ(informer.size(), 2u);
  std::lock_guard lock(mutex);
  EXPECT_THAT(watches, ElementsAre("resourceVersion=5", "resourceVersion=9", "resourceVersion=12"));
}

TEST(InformerFaults, ListsAgainAfter410AndReportsWhatIsGone) {
  std::atomic<int> lists = 0, watches = 0;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (!Asks(request, "watch=true")) {
      const bool is_first = ++lists == 1;
      connection.Answer(200, is_first ? PodList(5, Item("a", 3) + "," + Item("b", 4))
                                      : PodList(50, Item("b", 40) + "," + Item("c", 41)));
    } else if (++watches == 1) {
      connection.StartChunks();
      connection.Chunk(
          Event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
      connection.EndChunks();
    } else {
      connection.StartChunks();
      connection.WaitForClose(Seconds(30));
    }
  });
  auto client = Started(server);
  Told told;
  Informer informer(*client, Quick(), told.Handler());
  informer.Start();
  EXPECT_THAT(told.WaitFor(7),
              ElementsAre("+a first", "+b first", "synced", "failed watch", "-a", "~b", "+c"));
}

TEST(InformerFaults, ASilentWatchIsReplaced) {
  std::atomic<int> watches = 0;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (!Asks(request, "watch=true")) {
      connection.Answer(200, PodList(5, ""));
      return;
    }
    connection.StartChunks();
    if (++watches > 1) connection.Chunk(Event("ADDED", Item("late", 6)));
    connection.WaitForClose(Seconds(30));
  });
  auto client = Started(server, Seconds(0.2));
  Told told;
  Informer informer(*client, Quick(), told.Handler());
  informer.Start();
  EXPECT_THAT(told.WaitFor(3), ElementsAre("synced", "failed watch", "+late"));
}

TEST(InformerFaults, KeepsTryingAndSaysWhyItIsNotSynced) {
  std::atomic<bool> is_open = false;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (!is_open) {
      connection.Answer(
          403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no pods for you"})");
    } else if (Asks(request, "watch=true")) {
      connection.StartChunks();
      connection.WaitForClose(Seconds(30));
    } else {
      connection.Answer(200, PodList(5, ""));
    }
  });
  auto client = Started(server);
  Informer informer(*client, Quick());
  informer.Start();
  const Status status = informer.WaitForSync(Seconds(0.1));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("no pods for you"));
  EXPECT_TRUE(informer.WaitForAnswer(Seconds(30))) << "a refusal is one";
  EXPECT_FALSE(informer.HasSynced());
  is_open = true;
  EXPECT_TRUE(informer.WaitForSync(Seconds(30)).ok());
}

TEST(InformerFaults, AServerThatEndsWatchesAtOnceIsNotStormed) {
  std::atomic<int> watches = 0;
  std::promise<void> fourth;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (!Asks(request, "watch=true")) {
      connection.Answer(200, PodList(5, ""));
      return;
    }
    if (++watches == 4) fourth.set_value();
    connection.StartChunks();
    connection.EndChunks();
  });
  auto client = Started(server);
  InformerOptions options = Quick();
  options.backoff_min = Seconds(0.05);
  options.backoff_max = Seconds(1);
  const auto start = std::chrono::steady_clock::now();
  Informer informer(*client, options);
  informer.Start();
  fourth.get_future().wait();
  // At least half of 0.05 + 0.1 + 0.2.
  EXPECT_GE(std::chrono::steady_clock::now() - start, Seconds(0.17));
}

// Longer than its own pauses.
TEST(InformerFaults, ComesBackNoSoonerThanTheServerSays) {
  std::vector<std::chrono::steady_clock::time_point> watches;
  std::promise<void> second;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (!Asks(request, "watch=true")) {
      connection.Answer(200, PodList(5, ""));
      return;
    }
    watches.push_back(std::chrono::steady_clock::now());
    if (watches.size() == 1) {
      connection.Answer(429, "too many requests", "Retry-After: 1\r\n");
      return;
    }
    second.set_value();
    connection.StartChunks();
    connection.WaitForClose(Seconds(30));
  });
  auto client = Started(server);
  Informer informer(*client, Quick());
  informer.Start();
  ASSERT_EQ(second.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_GE(watches[1] - watches[0], Seconds(1));
}

TEST(InformerFaults, TheTransformKeepsWhatIsNeeded) {
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (Asks(request, "watch=true")) {
      connection.StartChunks();
      connection.WaitForClose(Seconds(30));
      return;
    }
    connection.Answer(200, PodList(5, R"({"metadata":{"name":"a","managedFields":[{}],"uid":"u",
      "resourceVersion":"1"},"spec":{"big":"thing"},"status":{"phase":"Running"}})"));
  });
  auto client = Started(server);
  InformerOptions options = Quick();
  options.transform = [](Json& object) { object.erase("spec"); };
  Informer informer(*client, options);
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Seconds(30)).ok());
  EXPECT_EQ(*informer.Find({"", "a"}), Json::parse(R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"a","uid":"u","resourceVersion":"1"},"status":{"phase":"Running"}})"));
}

TEST(InformerFaults, StopsInTheMiddleOfAnything) {
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (Asks(request, "watch=true")) {
      connection.StartChunks();
      for (int i = 10; connection.Chunk(Event("ADDED", Item("p" + std::to_string(i), i))); ++i) {
      }
    } else {
      connection.Answer(200, PodList(5, Item("a", 3)));
    }
  });
  auto client = Started(server);
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> changes = 0;
    Informer informer(*client, Quick(), {.changed = [&](const ObjectChange&) { ++changes; }});
    informer.Start();
    if (i % 2 == 0) {
      EXPECT_TRUE(informer.WaitForSync(Seconds(30)).ok());
    }
    informer.Stop();
    const int seen = changes;
    client->loop().RunAndWait([] {});
    EXPECT_EQ(changes, seen);
  }
}

}  // namespace
}  // namespace paceline::kube
