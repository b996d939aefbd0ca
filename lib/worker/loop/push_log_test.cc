#include "lib/worker/loop/push_log.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

using protocol::LeaseId;

class FakeSession : public Session {
 public:
  explicit FakeSession(std::vector<protocol::WorkerOrder> orders) : orders_(std::move(orders)) {}
  Status Send(const protocol::WorkerMessage&) override { return OkStatus(); }
  StatusOr<protocol::WorkerOrder> Receive(Duration) override {
    if (next_ == orders_.size()) return Unavailable("the end");
    return orders_[next_++];
  }
  std::optional<std::string> expelled() const override { return std::nullopt; }
  void OnInterrupt(std::function<void(Sequence)> interrupt) override { interrupt(Sequence(7)); }
  void Close() override {}

 private:
  const std::vector<protocol::WorkerOrder> orders_;
  size_t next_ = 0;
};

class PushLogTest : public ::testing::Test {
 protected:
  PushLogTest() {
    std::string path = ::testing::TempDir() + "/push-log-XXXXXX";
    folder_ = mkdtemp(path.data());
  }
  ~PushLogTest() override { std::filesystem::remove_all(folder_); }

  // A session of that log, with all of its orders received.
  std::unique_ptr<Session> Receive(const std::shared_ptr<PushLog>& log,
                                   std::vector<protocol::WorkerOrder> orders) {
    const size_t count = orders.size();
    const Connector connector =
        PushLog::Watch(log, {.connect = [&]() -> StatusOr<std::unique_ptr<Session>> {
                               return std::make_unique<FakeSession>(orders);
                             },
                             .open_shards = nullptr});
    std::unique_ptr<Session> session = *connector.connect();
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(session->Receive(Seconds(1)).ok());
    return session;
  }

  static protocol::WorkerOrder Release(uint64_t lease, std::vector<protocol::SampleRange> ranges) {
    return protocol::Released{.lease = {LeaseId(lease), std::move(ranges)}};
  }
  static protocol::PushDone Push(uint64_t sequence, std::vector<LeaseId> leases) {
    return {.generation = {2, 1},
            .sequence = Sequence(sequence),
            .based_on = Version(7),
            .samples = 12,
            .leases = std::move(leases)};
  }

  std::string Text() const {
    std::stringstream text;
    text << std::ifstream(folder_ + "/worker-3.pushes").rdbuf();
    return text.str();
  }

  std::string folder_;
};

TEST_F(PushLogTest, NamesTheSamplesOfEachLeaseThatAPushUsedUp) {
  const auto log = *PushLog::Open(folder_, WorkerId(3));
  const auto session =
      Receive(log, {protocol::Admitted{.incarnation = Incarnation(4)},
                    Release(1, {{0, 90, 100}, {1, 0, 2}}),
                    protocol::Continued{.lease = {LeaseId(2), {{1, 2, 10}}}}, Release(3, {})});
  ASSERT_TRUE(session->Send(protocol::Heartbeat{}).ok());
  ASSERT_TRUE(session->Send(Push(1, {LeaseId(1)})).ok());
  ASSERT_TRUE(session->Send(Push(2, {LeaseId(2)})).ok());
  EXPECT_EQ(Text(),
            "push start=2 counter=1 worker=3 incarnation=4 sequence=1 based_on=7 samples=12 "
            "ranges=0:90-100,1:0-2\n"
            "push start=2 counter=1 worker=3 incarnation=4 sequence=2 based_on=7 samples=12 "
            "ranges=1:2-10\n");
}

TEST_F(PushLogTest, InterruptsPassThrough) {
  const auto session = Receive(*PushLog::Open(folder_, WorkerId(3)), {});
  Sequence heard;
  session->OnInterrupt([&heard](Sequence sequence) { heard = sequence; });
  EXPECT_EQ(heard, Sequence(7));
}

TEST_F(PushLogTest, LeasesOfAnotherSessionOrThatWereHandedBackHaveNoSamples) {
  const auto log = *PushLog::Open(folder_, WorkerId(3));
  const auto first = Receive(log, {Release(1, {{0, 0, 10}})});
  const auto session =
      Receive(log, {protocol::Admitted{.incarnation = Incarnation(5)}, Release(2, {{0, 10, 20}})});
  ASSERT_TRUE(session->Send(protocol::Abandoned{.leases = {LeaseId(2)}}).ok());
  ASSERT_TRUE(session->Send(Push(1, {LeaseId(1), LeaseId(2)})).ok());
  EXPECT_EQ(Text(),
            "push start=2 counter=1 worker=3 incarnation=5 sequence=1 based_on=7 samples=12 "
            "ranges=\n");
}

TEST_F(PushLogTest, AnotherProcessOfTheWorkerGoesOnWithItsFile) {
  for (const uint64_t incarnation : {1u, 2u}) {
    const auto log = *PushLog::Open(folder_, WorkerId(3));
    const auto session = Receive(log, {protocol::Admitted{.incarnation = Incarnation(incarnation)},
                                       Release(1, {{0, 0, 1}})});
    ASSERT_TRUE(session->Send(Push(1, {LeaseId(1)})).ok());
  }
  const std::string text = Text();
  EXPECT_NE(text.find("incarnation=1"), std::string::npos);
  EXPECT_NE(text.find("incarnation=2"), std::string::npos);
}

TEST_F(PushLogTest, WantsItsFolder) {
  EXPECT_EQ(PushLog::Open(folder_ + "/none", WorkerId(3)).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace paceline::worker
