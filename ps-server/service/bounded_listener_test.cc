// A gRPC port among clients that open more connections than a server can have.
#include "ps-server/service/bounded_listener.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "paceline/v1/coordinator.grpc.pb.h"
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "lib/base/testing/eventually.h"
#include "ps-server/service/grpc_server.h"

namespace paceline::ps {
namespace {

using paceline::testing::Eventually;
using telemetry::OwnedSocket;

sockaddr_in Loopback(int last, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<uint32_t>(last - 1));
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// A stranger's connection from 127.0.0.`from`.
class Client {
 public:
  explicit Client(int from = 1) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in own = Loopback(from, 0);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
  }
  Client(int from, int port) : Client(from) { Connect(port); }

  void Connect(int port) {
    const sockaddr_in other = Loopback(1, port);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&other), sizeof(other)), 0);
  }

  // gRPC says something to whoever it has let in; who was refused is at the end.
  bool IsLetIn() {
    pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&waiting, 1, 10'000) == 1 && recv(socket_.get(), &byte, 1, MSG_PEEK) == 1;
  }

  void Close() { socket_.Close(); }

 private:
  OwnedSocket socket_;
};

// A gRPC server with limits of the test's own.
class Server {
 public:
  explicit Server(const BoundedListenerOptions& options)
      : listener_(*BoundedListener::Listen("127.0.0.1", 0, options)) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    listener_->LetIn(std::move(acceptor));
  }
  ~Server() { server_->Shutdown(std::chrono::system_clock::now()); }

  int port() const { return listener_->port(); }
  const BoundedListener& listener() const { return *listener_; }

 private:
  v1::Coordinator::Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<BoundedListener> listener_;
};

TEST(BoundedListenerTest, OnePeerLeavesRoomForOthers) {
  const Server server({.all = 40, .per_peer = 3});
  std::vector<Client> greedy;
  for (int i = 0; i < 3; ++i) {
    greedy.emplace_back(2, server.port());
    EXPECT_TRUE(greedy.back().IsLetIn());
  }
  EXPECT_FALSE(Client(2, server.port()).IsLetIn());
  EXPECT_TRUE(Client(3, server.port()).IsLetIn());
  EXPECT_EQ(server.listener().refused(), 1);
  // What has been closed makes room.
  greedy[1].Close();
  EXPECT_TRUE(Eventually([&] { return Client(2, server.port()).IsLetIn(); }));
}

ptrdiff_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(BoundedListenerTest, NoMoreThanItsLimitAreOpen) {
  const Server server({.all = 10, .per_peer = 5});
  std::vector<Client> clients;
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back(2 + i, server.port());
    EXPECT_TRUE(clients.back().IsLetIn());
  }
  EXPECT_FALSE(Client(20, server.port()).IsLetIn());
  const ptrdiff_t before = OpenDescriptors();
  for (Client& client : clients) client.Close();
  ASSERT_TRUE(Eventually([&] { return OpenDescriptors() <= before - 20; }));
  // Other files have the descriptors by now, so that their numbers tell nothing.
  std::vector<Client> others(20);
  EXPECT_TRUE(Eventually([&] { return Client(20, server.port()).IsLetIn(); }));
}

// The limit of this process' descriptors, for as long as this is there.
class DescriptorsMax {
 public:
  explicit DescriptorsMax(rlim_t max) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{.rlim_cur = max, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorsMax() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(BoundedListenerTest, AProcessWithoutDescriptorsIsOpenAgainWhenItHasSome) {
  static v1::Coordinator::Service service;
  const auto server = *GrpcServer::Start({.address = "127.0.0.1:0", .services = {&service}});
  const int port = std::stoi(server->address().substr(server->address().rfind(':') + 1));
  std::vector<Client> clients(100);
  const auto next_free = [] { return OwnedSocket(socket(AF_INET, SOCK_STREAM, 0)).get(); };
  {
    const DescriptorsMax few(static_cast<rlim_t>(next_free()) + 20);
    for (Client& client : clients) client.Connect(port);
    ASSERT_TRUE(Eventually([&] { return next_free() < 0; }));
    for (Client& client : clients) client.Close();
  }
  EXPECT_TRUE(Eventually([&] { return Client(1, port).IsLetIn(); }));
}

TEST(BoundedListenerTest, WildcardHearsBothFamilies) {
  const auto listener = *BoundedListener::Listen("0.0.0.0", 0, {});
  Client(1, listener->port());
  const OwnedSocket six(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  if (six.get() < 0 || bind(six.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    GTEST_SKIP() << "this machine has no IPv6";
  address.sin6_port = htons(static_cast<uint16_t>(listener->port()));
  const OwnedSocket client(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
}

}  // namespace
}  // namespace paceline::ps
