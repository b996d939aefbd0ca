// Event recording against a real kube-apiserver.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/kube/runtime/event_recorder.h"
#include "lib/kube/runtime/testing/cluster_fixture.h"
#include "lib/kube/testing/tcp_proxy.h"

namespace paceline::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class EventCluster : public RuntimeCluster {
 protected:
  void SetUp() override {
    RuntimeCluster::SetUp();
    if (IsSkipped()) return;
    object_ = client_->Call(Create(ConfigMaps(), ConfigMap("thing"))).value();
  }
  EventRecorderOptions Options() {
    return {.controller = "example.com/tester",
            .instance = "pod-1",
            .series_write = Seconds(1000),
            .failed = [this](const Status& status) {
              gate_.Change([&] { failures_.push_back(status); });
            }};
  }
  kube::Event Event(const std::string& note) const {
    return {.regarding = object_,
            .type = EventType::kWarning,
            .reason = "Broken",
            .action = "Repair",
            .note = note};
  }
  std::vector<Json> Stored() {
    return client_->ListAll(Events(), {.name_space = ns_}).value().items;
  }

  Json object_;
  Gate gate_;
  std::vector<Status> failures_;
};

TEST_F(EventCluster, AnEventTellsWhoAndWhat) {
  EventRecorder recorder(*client_, Options());
  kube::Event event = Event("it fell down");
  event.related = client_->Call(Create(ConfigMaps(), ConfigMap("other"))).value();
  recorder.Record(event);
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  ASSERT_EQ(Stored().size(), 1u);
  const Json stored = Stored()[0];
  EXPECT_EQ(StringAt(stored, "/note"), "it fell down");
  EXPECT_EQ(StringAt(stored, "/reason"), "Broken");
  EXPECT_EQ(StringAt(stored, "/action"), "Repair");
  EXPECT_EQ(StringAt(stored, "/type"), "Warning");
  EXPECT_EQ(StringAt(stored, "/regarding/kind"), "ConfigMap");
  EXPECT_EQ(StringAt(stored, "/regarding/uid"), Uid(object_));
  EXPECT_EQ(StringAt(stored, "/related/name"), "other");
  EXPECT_EQ(StringAt(stored, "/reportingController"), "example.com/tester");
  EXPECT_EQ(StringAt(stored, "/reportingInstance"), "pod-1");
  EXPECT_TRUE(ParseTime(StringAt(stored, "/eventTime")).has_value());
  EXPECT_EQ(stored.find("series"), stored.end());
}

TEST_F(EventCluster, EqualEventsBecomeOneSeries) {
  std::atomic<int> writes = 0;
  const auto client = Client::Create(LoadKubeconfig(server_->kubeconfig()).value(),
                                     {.observe = [&](const CallRecord&) { ++writes; }})
                          .value();
  EventRecorder recorder(*client, Options());
  for (int i = 0; i < 100; ++i) recorder.Record(Event("again"));
  recorder.Record(Event("something else"));
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  std::vector<std::string> told;
  for (const Json& stored : Stored()) {
    told.push_back(
        fmt::format("{} x{}", StringAt(stored, "/note"), IntegerAt(stored, "/series/count")));
  }
  EXPECT_THAT(told, UnorderedElementsAre("again x100", "something else x0"));
  EXPECT_LE(writes, 5);
  EXPECT_EQ(recorder.dropped(), 0u);
}

TEST_F(EventCluster, WhatIsNotRepeatedInTimeStartsAnew) {
  EventRecorderOptions options = Options();
  options.series_idle = Duration(0);
  EventRecorder recorder(*client_, options);
  recorder.Record(Event("now and then"));
  recorder.Record(Event("now and then"));
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  EXPECT_EQ(Stored().size(), 2u);
}

TEST_F(EventCluster, WhatIsFinalIsToldHoweverMuchWasSaidBefore) {
  EventRecorderOptions options = Options();
  options.burst = 2;
  EventRecorder recorder(*client_, options);
  for (int i = 0; i < 20; ++i) recorder.Record(Event(fmt::format("note {}", i)));
  kube::Event end = Event("the end");
  end.weight = EventWeight::kFinal;
  recorder.Record(end);
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  std::vector<std::string> told;
  for (const Json& stored : Stored()) told.push_back(StringAt(stored, "/note"));
  EXPECT_THAT(told, UnorderedElementsAre("note 0", "note 1", "the end"));
  EXPECT_EQ(recorder.dropped(), 18u);
}

TEST_F(EventCluster, ATalkativeObjectIsCutShortAndTheOthersAreNot) {
  EventRecorderOptions options = Options();
  options.burst = 5;
  EventRecorder recorder(*client_, options);
  for (int i = 0; i < 20; ++i) recorder.Record(Event(fmt::format("note {}", i)));
  kube::Event other = Event("quiet");
  other.regarding["metadata"]["name"] = "other";
  other.regarding["metadata"]["uid"] = "other";
  recorder.Record(other);
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  EXPECT_EQ(Stored().size(), 6u);
  EXPECT_EQ(recorder.dropped(), 15u);
}

TEST_F(EventCluster, LongTextsAreCutBetweenCharacters) {
  EventRecorder recorder(*client_, Options());
  std::string note = "x";
  while (note.size() < 2000) note += "ä";
  kube::Event event = Event(note);
  event.reason = std::string(300, 'R');
  recorder.Record(event);
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(StringAt(Stored()[0], "/note"), note.substr(0, 1023));
  EXPECT_EQ(StringAt(Stored()[0], "/reason").size(), 128u);
}

TEST_F(EventCluster, ObjectsWithoutANamespaceTellInTheDefaultOne) {
  EventRecorder recorder(*client_, Options());
  kube::Event event = Event("about " + ns_);
  event.regarding = client_->Call(Get(Namespaces(), {"", ns_})).value();
  event.action.clear();
  recorder.Record(event);
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  ASSERT_TRUE(failures_.empty()) << failures_[0];
  int found = 0;
  const ObjectList all = client_->ListAll(Events(), {.name_space = "default"}).value();
  for (const Json& stored : all.items) {
    found += StringAt(stored, "/note") == "about " + ns_ ? 1 : 0;
  }
  EXPECT_EQ(found, 1);
}

TEST_F(EventCluster, AServerThatIsAwayHoldsNobodyUp) {
  testing::TcpProxy link(server_->port());
  const auto client = NewClient(link.port());
  link.Freeze();
  EventRecorderOptions options = Options();
  options.pending_max = 10;
  options.burst = 1000;
  EventRecorder recorder(*client, options);
  for (int i = 0; i < 1000; ++i) recorder.Record(Event(fmt::format("note {}", i)));
  EXPECT_GE(recorder.dropped(), 980u);
  EXPECT_EQ(recorder.Flush(Seconds(0.1)).code(), StatusCode::kDeadlineExceeded);
  link.Thaw();
  EXPECT_TRUE(recorder.Flush(Seconds(60)).ok());
  EXPECT_EQ(Stored().size(), 1000 - recorder.dropped());
}

TEST_F(EventCluster, ARefusedEventIsReportedAndDropped) {
  EventRecorder recorder(*client_, Options());
  kube::Event event = Event("note");
  event.regarding["metadata"]["namespace"] = "no-such-namespace";
  recorder.Record(event);
  ASSERT_TRUE(recorder.Flush(Seconds(30)).ok());
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_THAT(Message(failures_[0]), HasSubstr("no-such-namespace"));
  EXPECT_EQ(recorder.dropped(), 1u);
}

}  // namespace
}  // namespace paceline::kube
