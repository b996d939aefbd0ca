#include "operator/controller/coordinator/coordinator_talk.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/process_name.h"
#include "lib/kube/testing/scripted_http.h"

namespace paceline::controller {
namespace {

using job::ProcessState;
using job::Role;
using kube::testing::ScriptedConnection;
using kube::testing::ScriptedHttp;
using kube::testing::ScriptedRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Time At(double seconds) { return Time(Seconds(seconds)); }

constexpr const char* kTraining =
    R"({"phase":"training","step":30,"epoch":1,"epochProgress":1,"percent":50,"workers":[],"epochs":[]})";

constexpr const char* kStarting =
    R"({"phase":"startup","step":0,"epoch":0,"epochProgress":0,"percent":0,"workers":[],"epochs":[]})";

// Lets a test wait until a talk has something to go on with.
class Bell {
 public:
  void Ring() {
    const std::lock_guard lock(mutex_);
    ++rings_;
    rung_.notify_all();
  }
  // Until it has rung so often, all told.
  void Await(int rings) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(rung_.wait_for(lock, std::chrono::seconds(60), [&] { return rings_ >= rings; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  int rings_ = 0;
};

// A job with one parameter server, whose coordinator is a scripted one, and one worker.
class CoordinatorTalkTest : public ::testing::Test {
 protected:
  CoordinatorTalkTest() {
    job_.metadata.name = "digits";
    job_.metadata.name_space = "research";
    job_.metadata.generation = 1;
    Put(Role::kParameterServer, "ps-uid", ProcessState::kRunning);
    Put(Role::kWorker, "worker-uid", ProcessState::kRunning);
  }

  // Until what it returns is gone: the script may use what the test has declared before.
  [[nodiscard]] std::shared_ptr<void> Serve(ScriptedHttp::Script script) {
    server_ = std::make_unique<ScriptedHttp>(std::move(script));
    kube::Config config;
    config.server = server_->url();
    client_ = kube::Client::Create(config).value();
    return {server_.get(), [this](void*) { server_.reset(); }};
  }

  void Put(Role role, const std::string& uid, ProcessState state) {
    job::SeenProcess process;
    process.name = job::ProcessName("digits", role, 0);
    process.role = role;
    process.state = state;
    std::erase_if(pods_, [&](const OwnPod& own) { return own.process.name == process.name; });
    pods_.push_back({std::make_shared<kube::Json>(kube::Json{{"metadata", {{"uid", uid}}},
                                                             {"status", {{"podIP", "127.0.0.1"}}}}),
                     process});
  }

  void Continue(double now) {
    talk_.Continue(job_, pods_, At(now),
                   {.client = client_.get(),
                    .server_of = [this](const kube::Json&) { return client_->config(); },
                    .answered = [this] { bell_.Ring(); },
                    .deadline = deadline_});
  }

  Bell bell_;
  std::unique_ptr<ScriptedHttp> server_;
  std::unique_ptr<kube::Client> client_;
  Duration deadline_ = Seconds(60);
  job::TrainingJob job_;
  std::vector<OwnPod> pods_;
  CoordinatorTalk talk_;  // First to go.
};

// A coordinator of an older version refuses fields that it does not know.
TEST_F(CoordinatorTalkTest, TellsNothingOfTheStatusButThatTheEvaluatorIsGone) {
  job_.status.restarts = 7;
  job_.status.remembered = job::Remembered{.degraded = "WorkersMissing"};
  std::mutex mutex;
  std::vector<kube::Json> told;
  const auto served = Serve([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    const std::lock_guard lock(mutex);
    if (request.method == "PUT") told.push_back(kube::Json::parse(request.body));
    connection.Answer(200, request.method == "GET" ? kTraining : "{}");
  });
  Continue(100);
  bell_.Await(2);
  job_.status.evaluator_gone = "it ended with exit code 2";
  job_.status.remembered->is_evaluator_gone = true;
  Continue(101);
  bell_.Await(3);
  const std::lock_guard lock(mutex);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_FALSE(told[0].contains("status"));
  EXPECT_EQ(told[1]["status"], (kube::Json{{"evaluatorGone", "it ended with exit code 2"}}));
}

TEST_F(CoordinatorTalkTest, AsksAndTellsAtOnceAndThenNowAndAgain) {
  std::mutex mutex;
  std::vector<std::string> said;
  const auto served = Serve([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    const std::lock_guard lock(mutex);
    said.push_back(request.method + " " + request.target);
    connection.Answer(200, request.method == "GET" ? kTraining : "{}");
  });
  Continue(100);
  EXPECT_TRUE(talk_.IsAwaited());  // That the spec is known, not what the coordinator says.
  bell_.Await(2);
  Continue(100.5);
  EXPECT_FALSE(talk_.IsAwaited());
  ASSERT_TRUE(talk_.report().has_value());
  EXPECT_EQ(talk_.report()->progress->step, 30);
  EXPECT_EQ(talk_.requeue_at(), At(110));
  Continue(109);
  EXPECT_EQ(server_->requests(), 2);
  Continue(110);
  bell_.Await(3);
  const std::lock_guard lock(mutex);
  EXPECT_THAT(said,
              ::testing::UnorderedElementsAre("GET /v1/job", "PUT /v1/job/spec", "GET /v1/job"));
}

TEST_F(CoordinatorTalkTest, WhatWasSaidBeforePodsEndedIsAskedAgainAndAwaited) {
  std::promise<void> first_may_answer;
  const auto released = first_may_answer.get_future().share();
  std::atomic<int> asked = 0;
  const auto served = Serve([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (request.method != "GET") return void(connection.Answer(200, "{}"));
    if (++asked == 1) released.wait();
    connection.Answer(200, kTraining);
  });
  Continue(100);
  bell_.Await(1);  // The spec is known.
  Continue(100.1);
  EXPECT_FALSE(talk_.IsAwaited());
  Put(Role::kWorker, "worker-uid", ProcessState::kExited);
  Continue(100.2);
  EXPECT_TRUE(talk_.IsAwaited());
  first_may_answer.set_value();
  bell_.Await(2);
  Continue(100.3);  // Too old an answer: asks anew.
  EXPECT_FALSE(talk_.report().has_value());
  EXPECT_TRUE(talk_.IsAwaited());
  bell_.Await(3);
  Continue(100.4);
  EXPECT_TRUE(talk_.report().has_value());
  EXPECT_FALSE(talk_.IsAwaited());
  EXPECT_EQ(asked, 2);
}

TEST_F(CoordinatorTalkTest, WhoDoesNotAnswerIsWaitedForNoLongerThanTheDeadline) {
  const auto served = Serve([](const ScriptedRequest&, ScriptedConnection&) {});
  deadline_ = Seconds(0.2);
  Put(Role::kWorker, "worker-uid", ProcessState::kExited);
  Continue(100);
  EXPECT_TRUE(talk_.IsAwaited());
  bell_.Await(2);
  Continue(100.2);
  EXPECT_FALSE(talk_.IsAwaited());
  EXPECT_FALSE(talk_.report().has_value());
  EXPECT_EQ(talk_.requeue_at(), At(102));
  ASSERT_TRUE(talk_.silence().has_value());
  EXPECT_EQ(talk_.silence()->since, At(100));
  EXPECT_THAT(talk_.silence()->why,
              HasSubstr("coordinator at " + server_->url() + " does not answer: "));
  Continue(101.9);
  EXPECT_EQ(server_->requests(), 2);
  Continue(102);
  bell_.Await(3);
  Continue(102.3);
  EXPECT_EQ(talk_.silence()->since, At(100)) << "since the first question";
  Put(Role::kParameterServer, "another-uid", ProcessState::kRunning);
  Continue(103);
  EXPECT_FALSE(talk_.silence().has_value()) << "that one was not asked before";
}

TEST_F(CoordinatorTalkTest, WhoDoesNotAnswerIsAskedLessAndLess) {
  std::atomic<int> asked = 0;
  const auto served = Serve([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    const bool is_told = request.method == "PUT";
    connection.Answer(is_told || ++asked == 6 ? 200 : 503, is_told ? "{}" : kStarting);
  });
  std::vector<double> pauses;
  double now = 100;
  for (int answers = 2; answers <= 7; ++answers) {
    Continue(now);
    bell_.Await(answers);  // The first time two: of the spec as well.
    Continue(now);
    pauses.push_back(ToSeconds(*talk_.requeue_at() - At(now)));
    now += pauses.back();
  }
  EXPECT_THAT(pauses, ElementsAre(2, 4, 8, 10, 10, 2));
}

TEST_F(CoordinatorTalkTest, ASpecIsToldUntilItIsHeardAndARefusalOnce) {
  std::atomic<int> told = 0;
  const auto served = Serve([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    if (request.method == "GET") return void(connection.Answer(200, kTraining));
    ++told;
    if (told == 1) return void(connection.Answer(503, "not yet"));
    connection.Answer(400, "no such scheme");
  });
  Continue(100);
  bell_.Await(2);
  Continue(100.1);
  EXPECT_FALSE(talk_.TakeRefusal().has_value());
  EXPECT_FALSE(talk_.IsAwaited());  // Goes on without it in between.
  EXPECT_EQ(talk_.requeue_at(), At(102.1));
  Continue(102.1);
  EXPECT_TRUE(talk_.IsAwaited());
  bell_.Await(3);
  Continue(102.2);
  const std::optional<Status> refusal = talk_.TakeRefusal();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(Message(*refusal), HasSubstr("no such scheme"));
  Continue(105);
  EXPECT_FALSE(talk_.TakeRefusal().has_value());
  EXPECT_EQ(told, 2);
  job_.metadata.generation = 2;
  Continue(106);
  EXPECT_TRUE(talk_.IsAwaited());
}

// What it comes to is seen at once, and for as long as it may take soon again.
TEST_F(CoordinatorTalkTest, AfterAChangeIsToldTheStateIsAskedForAtOnce) {
  std::atomic<int> asked = 0;
  const auto served = Serve([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    asked += request.method == "GET";
    connection.Answer(200, request.method == "GET" ? kTraining : "{}");
  });
  Continue(100);
  bell_.Await(2);
  Continue(101);
  EXPECT_EQ(talk_.requeue_at(), At(110));  // The spec that it began with is no change.
  job_.metadata.generation = 2;
  Continue(103);
  bell_.Await(3);  // It was told.
  EXPECT_EQ(asked, 1);
  Continue(103.1);
  bell_.Await(4);
  EXPECT_EQ(asked, 2);
  Continue(103.2);
  EXPECT_EQ(talk_.requeue_at(), At(105.1));
  Continue(113.2);
  bell_.Await(5);
  Continue(113.3);
  EXPECT_EQ(talk_.requeue_at(), At(123.2));
}

TEST_F(CoordinatorTalkTest, ACoordinatorThatHasEndedLeavesItsLastWord) {
  const auto served = Serve([](const ScriptedRequest&, ScriptedConnection&) {});
  Continue(100);
  Put(Role::kParameterServer, "ps-uid", ProcessState::kExited);
  kube::Json pod = *pods_.back().pod;
  pod["status"]["containerStatuses"] =
      kube::Json::array({{{"name", "ps"}, {"state", {{"terminated", {{"message", kTraining}}}}}}});
  pods_.back().pod = std::make_shared<kube::Json>(pod);
  Continue(101);
  EXPECT_TRUE(talk_.report().has_value());
  EXPECT_FALSE(talk_.requeue_at().has_value());
}

TEST_F(CoordinatorTalkTest, AnotherCoordinatorIsAskedAtOnce) {
  const auto served = Serve([](const ScriptedRequest& request, ScriptedConnection& connection) {
    connection.Answer(200, request.method == "GET" ? kTraining : "{}");
  });
  Continue(100);
  bell_.Await(2);
  Put(Role::kParameterServer, "another-uid", ProcessState::kRunning);
  Continue(101);  // The first one's answers are none of its own.
  EXPECT_FALSE(talk_.report().has_value());
  bell_.Await(4);
  Continue(101.1);
  EXPECT_TRUE(talk_.report().has_value());
  EXPECT_EQ(server_->requests(), 4);
}

}  // namespace
}  // namespace paceline::controller
