// Sessions of workers and shards over real gRPC.
#include "ps-server/service/coordinator_service.h"

#include <algorithm>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "lib/rpc/control/shard_session.h"
#include "lib/rpc/control/worker_session.h"
#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using coordination::ConnectionId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Writes down what transports tell.
class RecordingSessions final : public Sessions {
 public:
  ConnectionId WorkerConnected(std::shared_ptr<WorkerConnection> connection) override {
    std::lock_guard lock(mutex_);
    workers.push_back(std::move(connection));
    notes.push_back(fmt::format("connected c{}", workers.size()));
    changed_.notify_all();
    return ConnectionId(workers.size());
  }
  void WorkerSaid(ConnectionId connection, protocol::WorkerMessage message) override {
    std::lock_guard lock(mutex_);
    if (const auto* done = std::get_if<protocol::PushDone>(&message)) {
      sequences.push_back(done->sequence.value());
    } else {
      notes.push_back(fmt::format("{} said {}", connection, message.index()));
    }
    changed_.notify_all();
  }
  void WorkerGone(ConnectionId connection) override { Note(fmt::format("{} gone", connection)); }
  bool ShardConnected(const protocol::Register& shard,
                      std::shared_ptr<ShardConnection> connection) override {
    {
      std::lock_guard lock(mutex_);
      if (is_refusing_shards) {
        connection->Close();
        return false;
      }
      shards.push_back(std::move(connection));
    }
    Note(fmt::format("{} at {}", shard.shard, shard.address));
    return true;
  }
  void ShardSaid(ShardId shard, protocol::ShardMessage message) override {
    Note(fmt::format("{} said {}", shard, message.index()));
  }
  void ShardGone(ShardId shard, std::string) override { Note(fmt::format("{} gone", shard)); }

  template <class Condition>
  void Await(Condition condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }
  void AwaitNote(const std::string& note) {
    Await([&] { return std::find(notes.begin(), notes.end(), note) != notes.end(); });
  }

  std::vector<std::shared_ptr<WorkerConnection>> workers;
  std::vector<std::shared_ptr<ShardConnection>> shards;
  bool is_refusing_shards = false;
  std::vector<std::string> notes;
  std::vector<uint64_t> sequences;

 private:
  void Note(std::string note) {
    std::lock_guard lock(mutex_);
    notes.push_back(std::move(note));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
};

class CoordinatorServiceTest : public ::testing::Test {
 protected:
  CoordinatorServiceTest()
      : server_(*GrpcServer::Start({.address = folder_.Address("c"), .services = {&service_}})) {}

  std::unique_ptr<rpc::CoordinatorSession> Connect() {
    auto session = *rpc::CoordinatorSession::Connect(server_->address(), Seconds(30));
    EXPECT_TRUE(session->Send(protocol::Heartbeat{}).ok());
    const size_t before = connected_++;
    sessions_.Await([&] { return sessions_.workers.size() > before; });
    return session;
  }

  testing::SocketFolder folder_;
  RecordingSessions sessions_;
  CoordinatorService service_{sessions_};
  std::unique_ptr<GrpcServer> server_;
  size_t connected_ = 0;
};

// Heartbeats are no word of who one is.
TEST(CoordinatorServiceDoor, WhoNeverJoinsIsSentAway) {
  testing::SocketFolder folder;
  RecordingSessions sessions;
  CoordinatorService service(sessions, {}, std::chrono::milliseconds(300));
  const auto server = *GrpcServer::Start({.address = folder.Address("c"), .services = {&service}});
  const auto silent = *rpc::CoordinatorSession::Connect(server->address(), Seconds(30));
  EXPECT_TRUE(silent->Send(protocol::Heartbeat{}).ok());
  const Status end = silent->Receive(Seconds(30)).status();
  EXPECT_EQ(end.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(end), HasSubstr("no join within 0.3 s"));
  sessions.AwaitNote("c1 gone");
  const auto shard = *rpc::ShardSession::Connect(server->address(), Seconds(30));
  EXPECT_THAT(Message(shard->Receive(Seconds(30)).status()), HasSubstr("no register within 0.3 s"));
}

TEST(CoordinatorServiceDoor, WhoHasJoinedStays) {
  testing::SocketFolder folder;
  RecordingSessions sessions;
  CoordinatorService service(sessions, {}, Seconds(2));
  const auto server = *GrpcServer::Start({.address = folder.Address("c"), .services = {&service}});
  const auto has_said = [&](std::ptrdiff_t count) {
    return std::count_if(sessions.notes.begin(), sessions.notes.end(), [](const std::string& note) {
             return note.starts_with("c1 said");
           }) == count;
  };
  const auto member = *rpc::CoordinatorSession::Connect(server->address(), Seconds(30));
  EXPECT_TRUE(member->Send(protocol::Join{.role = protocol::Role::kWorker}).ok());
  sessions.Await([&] { return has_said(1); });
  const auto silent = *rpc::CoordinatorSession::Connect(server->address(), Seconds(30));
  EXPECT_FALSE(silent->Receive(Seconds(30)).ok());  // Came later and is gone.
  ASSERT_TRUE(member->Send(protocol::Heartbeat{}).ok());
  sessions.Await([&] { return has_said(2); });
}

TEST_F(CoordinatorServiceTest, ThousandsOfMessagesArriveInOrderBothWays) {
  constexpr uint64_t kCount = 5000;
  const auto session = Connect();
  std::thread orders([&] {
    for (uint64_t i = 0; i < kCount; ++i) sessions_.workers[0]->Send(protocol::Offered{Version(i)});
  });
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(session->Send(protocol::PushDone{.sequence = Sequence(i)}).ok());
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    const auto order = session->Receive(Seconds(60));
    ASSERT_TRUE(order.ok()) << order.status();
    ASSERT_EQ(std::get<protocol::Offered>(*order).version, Version(i));
  }
  orders.join();
  sessions_.Await([&] { return sessions_.sequences.size() == kCount; });
  for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(sessions_.sequences[i], i);
}

TEST_F(CoordinatorServiceTest, SendsOfManyThreadsAllArrive) {
  const auto session = Connect();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) EXPECT_TRUE(session->Send(protocol::PushDone{}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  sessions_.Await([&] { return sessions_.sequences.size() == 1000; });
}

TEST_F(CoordinatorServiceTest, WorkerThatClosesIsGoneOnceAndWhatItSaidCameFirst) {
  auto session = Connect();
  for (int i = 0; i < 100; ++i) (void)session->Send(protocol::PushDone{});
  (void)session->Send(protocol::Leaving{});
  session->Close();
  sessions_.AwaitNote("c1 gone");
  EXPECT_THAT(sessions_.notes, ElementsAre("connected c1", "c1 said 1", "c1 said 5", "c1 gone"));
  EXPECT_EQ(sessions_.sequences.size(), 100u);
  EXPECT_EQ(session->Send(protocol::Heartbeat{}).code(), StatusCode::kCancelled);
  EXPECT_EQ(session->Receive(Seconds(1)).status().code(), StatusCode::kCancelled);
  session->Close();
  sessions_.workers[0]->Send(protocol::Interrupted{});  // Dropped, and harmless.
  sessions_.workers[0]->Close();
}

// Who computes does not receive: it hears of the step that nobody wants all the same.
TEST_F(CoordinatorServiceTest, AnInterruptOvertakesWhatIsNotReceivedYet) {
  const auto session = Connect();
  std::promise<Sequence> heard;
  session->OnInterrupt([&heard](Sequence sequence) { heard.set_value(sequence); });
  sessions_.workers[0]->Send(protocol::Offered{Version(1)});
  sessions_.workers[0]->Send(protocol::Interrupted{Sequence(7)});
  sessions_.workers[0]->Send(protocol::Offered{Version(2)});
  EXPECT_EQ(heard.get_future().get(), Sequence(7));
  for (const uint64_t version : {1, 2}) {
    const auto order = session->Receive(Seconds(60));
    ASSERT_TRUE(order.ok()) << order.status();
    EXPECT_EQ(std::get<protocol::Offered>(*order).version, Version(version));
  }
}

TEST_F(CoordinatorServiceTest, CoordinatorThatClosesIsHeardOutFirst) {
  const auto session = Connect();
  for (uint64_t i = 0; i < 100; ++i) sessions_.workers[0]->Send(protocol::Offered{Version(i)});
  sessions_.workers[0]->Send(protocol::Finish{"target reached"});
  sessions_.workers[0]->Close();
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(session->Receive(Seconds(60)).ok());
  EXPECT_EQ(std::get<protocol::Finish>(*session->Receive(Seconds(60))).reason, "target reached");
  EXPECT_EQ(session->Receive(Seconds(60)).status().code(), StatusCode::kUnavailable);
  sessions_.AwaitNote("c1 gone");
}

TEST_F(CoordinatorServiceTest, StoppedServerEndsSessionsAndTellsOfEach) {
  const auto first = Connect();
  const auto second = Connect();
  server_->Stop(Duration::zero());
  EXPECT_NE(first->Receive(Seconds(60)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(second->Receive(Seconds(60)).status().code(), StatusCode::kDeadlineExceeded);
  sessions_.AwaitNote("c1 gone");
  sessions_.AwaitNote("c2 gone");
  EXPECT_FALSE(first->Send(protocol::Heartbeat{}).ok());
}

TEST_F(CoordinatorServiceTest, QuietSessionIsNotOver) {
  const auto session = Connect();
  EXPECT_EQ(session->Receive(Seconds(0.01)).status().code(), StatusCode::kDeadlineExceeded);
  sessions_.workers[0]->Send(protocol::Fill{});
  EXPECT_TRUE(session->Receive(Seconds(60)).ok());
}

TEST_F(CoordinatorServiceTest, MessageThatSaysNothingEndsTheSession) {
  const auto stub = v1::Coordinator::NewStub(
      grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->WorkerSession(&context);
  ASSERT_TRUE(stream->Write(v1::WorkerMessage()));
  v1::WorkerOrder order;
  EXPECT_FALSE(stream->Read(&order));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("says nothing"));
  sessions_.AwaitNote("c1 gone");
}

TEST_F(CoordinatorServiceTest, ShardRegistersObeysAndLeaves) {
  const auto session = *rpc::ShardSession::Connect(server_->address(), Seconds(30));
  ASSERT_TRUE(session->Send(protocol::Register{ShardId(1), "unix:/tmp/s1"}).ok());
  sessions_.AwaitNote("s1 at unix:/tmp/s1");
  sessions_.shards[0]->Send(protocol::Open{WorkerId(2), Incarnation(3)});
  const auto order = session->Receive(Seconds(60));
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(std::get<protocol::Open>(*order).worker, WorkerId(2));
  ASSERT_TRUE(session->Send(protocol::Opened{}).ok());
  sessions_.AwaitNote("s1 said 3");
  session->Close();
  sessions_.AwaitNote("s1 gone");
}

TEST_F(CoordinatorServiceTest, OrdersGoToWhoTakesThemAndTheRestToReceive) {
  const auto session = *rpc::ShardSession::Connect(server_->address(), Seconds(30));
  std::vector<WorkerId> taken;
  session->HandTo([&](const protocol::ShardOrder& order) {
    const auto* open = std::get_if<protocol::Open>(&order);
    if (open != nullptr) taken.push_back(open->worker);
    return open != nullptr;
  });
  ASSERT_TRUE(session->Send(protocol::Register{ShardId(1), "unix:/tmp/s1"}).ok());
  sessions_.AwaitNote("s1 at unix:/tmp/s1");
  sessions_.shards[0]->Send(protocol::Open{WorkerId(2), Incarnation(3)});
  sessions_.shards[0]->Send(protocol::StopShard{});
  sessions_.shards[0]->Send(protocol::Open{WorkerId(4), Incarnation(1)});
  sessions_.shards[0]->Close();
  const auto order = session->Receive(Seconds(60));
  ASSERT_TRUE(order.ok());
  EXPECT_TRUE(std::holds_alternative<protocol::StopShard>(*order));
  EXPECT_FALSE(session->Receive(Seconds(60)).ok());
  session->Close();
  EXPECT_EQ(taken, (std::vector<WorkerId>{WorkerId(2), WorkerId(4)}));
}

// It may be frozen: what it says when it thaws is of a session that is over, and its end is no
// news.
TEST_F(CoordinatorServiceTest, ShardThatIsGivenUpIsNotHeardOfAgainAndMayComeBack) {
  const auto given_up = *rpc::ShardSession::Connect(server_->address(), Seconds(30));
  ASSERT_TRUE(given_up->Send(protocol::Register{ShardId(1), "unix:/tmp/old"}).ok());
  sessions_.AwaitNote("s1 at unix:/tmp/old");
  sessions_.shards[0]->Close();
  (void)given_up->Send(protocol::Opened{});
  EXPECT_EQ(given_up->Receive(Seconds(60)).status().code(), StatusCode::kUnavailable);
  const auto anew = *rpc::ShardSession::Connect(server_->address(), Seconds(30));
  ASSERT_TRUE(anew->Send(protocol::Register{ShardId(1), "unix:/tmp/new"}).ok());
  sessions_.AwaitNote("s1 at unix:/tmp/new");
  given_up->Close();
  anew->Close();
  sessions_.AwaitNote("s1 gone");
  server_->Stop(Duration::zero());  // All calls have ended then.
  EXPECT_THAT(sessions_.notes,
              ElementsAre("s1 at unix:/tmp/old", "s1 at unix:/tmp/new", "s1 gone"));
}

TEST_F(CoordinatorServiceTest, ShardThatDoesNotRegisterIsRefused) {
  const auto session = *rpc::ShardSession::Connect(server_->address(), Seconds(30));
  ASSERT_TRUE(session->Send(protocol::Opened{}).ok());
  const Status status = session->Receive(Seconds(60)).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("first message of a shard is not register"));
  EXPECT_TRUE(sessions_.notes.empty());
}

TEST_F(CoordinatorServiceTest, RefusedShardIsNotHeardOfAgain) {
  sessions_.is_refusing_shards = true;
  const auto second = *rpc::ShardSession::Connect(server_->address(), Seconds(30));
  ASSERT_TRUE(second->Send(protocol::Register{ShardId(1), "unix:/s1"}).ok());
  (void)second->Send(protocol::Opened{});
  EXPECT_EQ(second->Receive(Seconds(60)).status().code(), StatusCode::kUnavailable);
  server_->Stop(Duration::zero());  // All calls have ended then.
  EXPECT_TRUE(sessions_.notes.empty());
}

TEST(CoordinatorSessionTest, NobodyThereIsUnavailableByName) {
  const testing::SocketFolder folder;
  const auto session = rpc::CoordinatorSession::Connect(folder.Address("nobody"), Seconds(0.05));
  EXPECT_EQ(session.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(session.status()), HasSubstr("cannot reach " + folder.Address("nobody")));
}

TEST(CoordinatorSessionTest, ConnectsOnceTheServerIsThere) {
  const testing::SocketFolder folder;
  std::unique_ptr<rpc::CoordinatorSession> session;
  std::thread early(
      [&] { session = *rpc::CoordinatorSession::Connect(folder.Address("c"), Seconds(60)); });
  RecordingSessions sessions;
  CoordinatorService service(sessions);
  const auto server = *GrpcServer::Start({.address = folder.Address("c"), .services = {&service}});
  early.join();
  EXPECT_TRUE(session->Send(protocol::Heartbeat{}).ok());
  sessions.AwaitNote("c1 said 1");
  session->Close();
}

}  // namespace
}  // namespace paceline::ps
