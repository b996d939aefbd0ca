#include "ps-server/service/grpc_server.h"

#include <atomic>
#include <fstream>

#include "paceline/v1/coordinator.grpc.pb.h"
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/limits.h"
#include "ps-server/service/data_plane_testing.h"
#include "ps-server/service/listen_probe.h"

namespace paceline::ps {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// gRPC starts no server that has no service; any will do.
StatusOr<std::unique_ptr<GrpcServer>> Start(const std::string& address) {
  static v1::Coordinator::Service service;
  return GrpcServer::Start({.address = address, .services = {&service}});
}

// Reads what workers send, and counts it.
class Reading final : public v1::Coordinator::Service {
 public:
  grpc::Status WorkerSession(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::WorkerOrder, v1::WorkerMessage>* stream) override {
    v1::WorkerMessage message;
    while (stream->Read(&message)) ++count;
    return grpc::Status::OK;
  }
  std::atomic<int> count = 0;
};

// How a stranger's session ends that sends one message with so long a name in it.
grpc::Status Sent(const GrpcServer& server, size_t name_bytes, grpc_compression_algorithm packed) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  const auto stub = v1::Coordinator::NewStub(
      grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_compression_algorithm(packed);
  const auto stream = stub->WorkerSession(&context);
  v1::WorkerMessage message;
  message.mutable_join()->mutable_layout()->add_tensors()->set_name(std::string(name_bytes, 'x'));
  stream->Write(message);
  stream->WritesDone();
  return stream->Finish();
}

TEST(GrpcServerTest, PackedMessagesAreRefused) {
  Reading service;
  const auto server = *GrpcServer::Start({.address = "127.0.0.1:0", .services = {&service}});
  for (const auto packed : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const grpc::Status end = Sent(*server, 10'000'000, packed);
    EXPECT_EQ(end.error_code(), grpc::StatusCode::UNIMPLEMENTED) << end.error_message();
    EXPECT_THAT(end.error_message(), HasSubstr("ompression algorithm"));
  }
  EXPECT_EQ(service.count, 0);
  EXPECT_TRUE(Sent(*server, 10'000'000, GRPC_COMPRESS_NONE).ok());
  EXPECT_EQ(service.count, 1);
}

TEST(GrpcServerTest, AMessageBeyondTheLimitIsRefused) {
  Reading service;
  const auto server = *GrpcServer::Start({.address = "127.0.0.1:0", .services = {&service}});
  const grpc::Status end = Sent(*server, limits::kMessageBytesMax, GRPC_COMPRESS_NONE);
  EXPECT_EQ(end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << end.error_message();
  EXPECT_TRUE(Sent(*server, limits::kMessageBytesMax - 100, GRPC_COMPRESS_NONE).ok());
  EXPECT_EQ(service.count, 1);
}

TEST(GrpcServerTest, PortZeroTakesAFreeOneAndSaysWhich) {
  const auto server = Start("127.0.0.1:0");
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT((*server)->address(), MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
}

TEST(GrpcServerTest, PortInUseIsSaid) {
  const auto first = *Start("127.0.0.1:0");
  const auto second = Start(first->address());
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(second.status()),
            "cannot listen on " + first->address() + ": Address already in use");
}

TEST(GrpcServerTest, PortIsFreeAfterStop) {
  auto first = *Start("127.0.0.1:0");
  const std::string address = first->address();
  first->Stop(Duration::zero());
  first->Stop(Duration::zero());
  EXPECT_TRUE(Start(address).ok());
}

TEST(GrpcServerTest, SocketInUseIsSaidAndLeftAlone) {
  const testing::SocketFolder folder;
  const auto first = *Start(folder.Address("s"));
  EXPECT_THAT(Message(Start(folder.Address("s")).status()),
              HasSubstr("/s: address already in use"));
  EXPECT_THAT(Message(Start(folder.Address("s")).status()),
              HasSubstr("/s: address already in use"));
}

TEST(GrpcServerTest, SocketThatNobodyListensOnIsReplaced) {
  const testing::SocketFolder folder;
  const std::string path = folder.Address("s").substr(5);
  const int left_over = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{.sun_family = AF_UNIX};
  std::memcpy(name.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(left_over, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  ::close(left_over);
  EXPECT_TRUE(Start(folder.Address("s")).ok());
}

TEST(GrpcServerTest, AddressesThatCannotBeHadSayWhy) {
  const testing::SocketFolder folder;
  const std::string file = folder.Address("file");
  std::ofstream(file.substr(5)) << "precious";
  for (const auto& [address, words] : std::vector<std::pair<std::string, std::string>>{
           {"127.0.0.1", "neither unix:/path nor host:port: 127.0.0.1"},
           {"127.0.0.1:", "neither"},
           {"127.0.0.1:http", "neither"},
           {"127.0.0.1:65536", "neither"},
           {":7000", "neither"},
           {"", "neither"},
           {"192.0.2.1:7000", "cannot listen on 192.0.2.1:7000: Cannot assign requested address"},
           {folder.Address("none/s"), "no such file or directory"},
           {file, "file exists"},
           {"unix:", "wrong length"},
           {"unix:/" + std::string(200, 'x'), "has 201 bytes, want 1 to 107"}}) {
    const auto server = Start(address);
    EXPECT_FALSE(server.ok()) << address;
    EXPECT_THAT(Message(server.status()), HasSubstr(words));
  }
  EXPECT_TRUE(std::filesystem::exists(file.substr(5)));
}

TEST(ListenProbeTest, PortGoesWhereItBelongs) {
  EXPECT_EQ(WithPort("127.0.0.1:0", 81), "127.0.0.1:81");
  EXPECT_EQ(WithPort("[::1]:0", 81), "[::1]:81");
}

}  // namespace
}  // namespace paceline::ps
