#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "paceline/v1/coordinator.grpc.pb.h"
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "lib/rpc/control/codec_shard.h"
#include "lib/rpc/control/shard_session.h"

namespace paceline::rpc {
namespace {

constexpr int kSessions = 20;

// Answers a shard's first message with an order, then reads until the shard has said all. A
// synchronous service: it uses none of the threads that run a client's callbacks.
class OneOrder final : public v1::Coordinator::Service {
 public:
  grpc::Status ShardSession(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::ShardOrder, v1::ShardMessage>* stream) override {
    v1::ShardMessage message;
    if (stream->Read(&message)) stream->Write(Encode(protocol::ShardOrder(protocol::StopShard{})));
    while (stream->Read(&message)) {
    }
    return grpc::Status::OK;
  }
};

// This thread and all that it starts share one processor.
class OneProcessor {
 public:
  OneProcessor() {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    EXPECT_EQ(sched_setaffinity(0, sizeof here, &here), 0);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

// The calling thread runs only where no other wants to.
void GiveWay() {
  const sched_param none{};
  EXPECT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
}

// The last to let go of a session may be the last to let go of its channel, and a thread of gRPC
// that does so crashes the process soon after. Here gRPC's thread comes to tell that the session is
// over, wakes this one and has to give way to it at once: in the order that needs luck otherwise.
TEST(Session, IsNeverDestroyedOnAThreadOfTheTransport) {
  OneOrder service;
  const std::string path = ::testing::TempDir() + "session-" + std::to_string(getpid()) + ".sock";
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);

  const OneProcessor one_processor;
  for (int i = 0; i < kSessions; ++i) {
    auto session = ShardSession::Connect("unix:" + path, Seconds(30));
    ASSERT_TRUE(session.ok()) << session.status();
    std::promise<void> ordered;
    std::promise<std::thread::id> destroyed_on;
    std::shared_ptr<void> part_of_session(
        nullptr, [&destroyed_on](void*) { destroyed_on.set_value(std::this_thread::get_id()); });
    (*session)->HandTo([&ordered, part = std::move(part_of_session)](const protocol::ShardOrder&) {
      GiveWay();
      ordered.set_value();
      return true;
    });
    ASSERT_TRUE((*session)->Send(protocol::ShardHeartbeat{}).ok());
    ASSERT_EQ(ordered.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
    session->reset();
    ASSERT_EQ(destroyed_on.get_future().get(), std::this_thread::get_id()) << "session " << i;
  }
  server->Shutdown();
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace paceline::rpc
