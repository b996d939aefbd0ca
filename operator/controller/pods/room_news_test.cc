#include "operator/controller/pods/room_news.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/kube/testing/scripted_http.h"

namespace paceline::controller {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Time At(const char* time) { return *ParseTime(time); }

Json Event(const char* reason, const char* time) {
  return {{"reason", reason}, {"deprecatedLastTimestamp", time}};
}

kube::ObjectPtr JobIn(const char* name, const char* state) {
  return std::make_shared<Json>(Json{{"metadata", {{"namespace", "research"}, {"name", name}}},
                                     {"status", {{"state", state}}}});
}

TEST(RoomNews, AutoscalersSayThatAMachineComes) {
  const Time then = At("2026-11-29T10:00:00Z");
  EXPECT_EQ(RoomPromisedBy(Event("TriggeredScaleUp", "2026-11-29T10:00:00Z")), then);
  EXPECT_EQ(RoomPromisedBy(Event("Nominated", "2026-11-29T10:00:00Z")), then);
  EXPECT_EQ(RoomPromisedBy(Event("NotTriggerScaleUp", "2026-11-29T10:00:00Z")), std::nullopt);
  EXPECT_EQ(RoomPromisedBy(Event("FailedScheduling", "2026-11-29T10:00:00Z")), std::nullopt);
  // The newest time that it has, in each of the forms that events have had.
  const Json series = {{"reason", "Nominated"},
                       {"eventTime", "2026-11-29T09:00:00.000000Z"},
                       {"series", {{"lastObservedTime", "2026-11-29T10:00:00.000000Z"}}}};
  EXPECT_EQ(RoomPromisedBy(series), then);
  const Json plain = {{"reason", "Nominated"},
                      {"eventTime", nullptr},
                      {"metadata", {{"creationTimestamp", "2026-11-29T10:00:00Z"}}}};
  EXPECT_EQ(RoomPromisedBy(plain), then);
}

TEST(RoomNews, AJobThatLacksMachinesWaits) {
  const kube::ObjectKey self{"research", "digits"};
  std::vector<kube::ObjectPtr> pods;
  const PodsOfJob pods_of = [&](const std::string&) { return pods; };
  EXPECT_FALSE(AnyOtherWaits({}, pods_of, self));
  EXPECT_FALSE(AnyOtherWaits({JobIn("digits", "Unschedulable")}, pods_of, self));
  EXPECT_FALSE(AnyOtherWaits({JobIn("other", "Running"), JobIn("over", "Failed")}, pods_of, self));
  EXPECT_TRUE(
      AnyOtherWaits({JobIn("other", "Running"), JobIn("waits", "Unschedulable")}, pods_of, self));
  EXPECT_TRUE(AnyOtherWaits({JobIn("waits", "GaveWay")}, pods_of, self));
  EXPECT_FALSE(AnyOtherWaits({JobIn("begins", "Starting")}, pods_of, self));
  pods.push_back(std::make_shared<Json>(
      Json{{"status",
            {{"conditions",
              Json::array({{{"type", "PodScheduled"}, {"reason", "SchedulingGated"}}})}}}}));
  EXPECT_TRUE(AnyOtherWaits({JobIn("queues", "Starting")}, pods_of, self));
  EXPECT_FALSE(AnyOtherWaits({JobIn("trains", "Running")}, pods_of, self));
}

// An API server with one event, which notes what it is asked for.
class RoomNewsOfPods : public ::testing::Test {
 protected:
  void SetUp() override {
    kube::Config config;
    config.server = server_.url();
    client_ = kube::Client::Create(config).value();
  }
  OwnPod Pod(const std::string& uid, const char* nominated = "") {
    OwnPod own;
    own.pod = std::make_shared<Json>(
        Json{{"metadata", {{"namespace", "research"}, {"name", "digits-worker-0"}, {"uid", uid}}},
             {"status", {{"nominatedNodeName", nominated}}}});
    own.process.state = job::ProcessState::kPending;
    own.process.is_unschedulable = true;
    own.process.started_at = start_;
    return own;
  }
  std::vector<std::string> Asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  const Time start_ = At("2026-11-29T10:00:00Z");
  std::mutex mutex_;
  std::vector<std::string> asked_;
  int code_ = 200;
  kube::testing::ScriptedHttp server_{[this](const kube::testing::ScriptedRequest& request,
                                             kube::testing::ScriptedConnection& connection) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.target);
    connection.Answer(code_,
                      Json{{"items", {Event("TriggeredScaleUp", "2026-11-29T10:01:00Z")}}}.dump());
  }};
  std::unique_ptr<kube::Client> client_;
  RoomNews news_;
};

TEST_F(RoomNewsOfPods, AreAskedForByUidOnceAMinuteOfThoseThatWaitForAWhile) {
  using std::chrono::seconds;
  news_.Refresh(*client_, {Pod("a")}, start_ + seconds(29));
  EXPECT_THAT(Asked(), ElementsAre());
  news_.Refresh(*client_, {Pod("a")}, start_ + seconds(90));
  EXPECT_THAT(Asked(), ElementsAre(HasSubstr("fieldSelector=regarding.uid%3Da")));
  EXPECT_EQ(news_.promised_at(), At("2026-11-29T10:01:00Z"));
  news_.Refresh(*client_, {Pod("a")}, start_ + seconds(149));
  EXPECT_EQ(Asked().size(), 1u);
  news_.Refresh(*client_, {Pod("a")}, start_ + seconds(151));
  EXPECT_EQ(Asked().size(), 2u);
  news_.Refresh(*client_, {}, start_ + seconds(152));  // It has found room.
  EXPECT_EQ(news_.promised_at(), std::nullopt);
}

TEST_F(RoomNewsOfPods, AreBoundedAndMayBeRefused) {
  code_ = 403;
  std::vector<OwnPod> many;
  for (int i = 0; i < 30; ++i) many.push_back(Pod(fmt::format("p{}", i)));
  news_.Refresh(*client_, many, start_ + std::chrono::seconds(60));
  EXPECT_EQ(Asked().size(), 10u);
  EXPECT_EQ(news_.promised_at(), std::nullopt);
  news_.Refresh(*client_, many, start_ + std::chrono::seconds(61));  // The next ten.
  EXPECT_EQ(Asked().size(), 20u);
}

TEST_F(RoomNewsOfPods, ANominatedNodeCountsFromWhenItIsSeen) {
  const Time seen = start_ + std::chrono::seconds(5);
  news_.Refresh(*client_, {Pod("a", "node-1")}, seen);
  EXPECT_EQ(news_.promised_at(), seen);
  news_.Refresh(*client_, {Pod("a", "node-1")}, seen + std::chrono::seconds(10));
  EXPECT_EQ(news_.promised_at(), seen);
}

}  // namespace
}  // namespace paceline::controller
