// Memory shared between a shard and workers that end in every way there is. What every transport
// must do is in data_plane_test.cc.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"
#include "lib/base/testing/failing_threads.h"
#include "lib/rpc/control/codec_values.h"
#include "lib/rpc/shared_memory/mapping.h"
#include "lib/rpc/shared_memory/memory_socket.h"
#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using testing::kGeneration;
using testing::LayoutOf;
using testing::MappedRegions;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using testing::Transport;

constexpr Duration kPatience = std::chrono::seconds(30);

store::PushId Push(uint64_t worker, uint64_t sequence, uint64_t incarnation = 1) {
  return {WorkerId(worker), Incarnation(incarnation), Sequence(sequence)};
}

// How many descriptors of shared memory this process has.
int OpenRegions() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(entry, gone).string().find("memfd:paceline") !=
             std::string::npos;
  }
  return count;
}

// One connection, without a client's manners.
class RawPeer {
 public:
  explicit RawPeer(const std::string& address)
      : socket_(*rpc::MemorySocket::Connect(*rpc::MemorySocketPath(address))) {
    EXPECT_TRUE(socket_.Receive(welcome_, kPatience).ok());
  }
  const v1::MemoryAnswer& welcome() const { return welcome_; }

  v1::MemoryAnswer Ask(const v1::MemoryRequest& request) {
    v1::MemoryAnswer answer;
    if (const Status sent = socket_.Send(request, kPatience); !sent.ok()) return Broken();
    if (const Status heard = socket_.Receive(answer, kPatience); !heard.ok()) return Broken();
    return answer;
  }
  v1::MemoryAnswer Pull(Version version) {
    v1::MemoryRequest request;
    *request.mutable_pull()->mutable_generation() = rpc::Encode(kGeneration);
    request.mutable_pull()->set_version(version.value());
    request.mutable_pull()->set_exactness(rpc::Encode(sync::Exactness::kExact));
    return Ask(request);
  }
  v1::MemoryAnswer Stage(const store::PushId& id, uint64_t bytes) {
    v1::MemoryRequest request;
    *request.mutable_stage()->mutable_generation() = rpc::Encode(kGeneration);
    *request.mutable_stage()->mutable_push() = rpc::Encode(id);
    request.mutable_stage()->set_total_bytes(bytes);
    return Ask(request);
  }
  v1::MemoryAnswer Seal(uint64_t ticket, int blocks) {
    v1::MemoryRequest request;
    request.mutable_seal()->set_ticket(ticket);
    for (int i = 0; i < blocks; ++i)
      request.mutable_seal()->mutable_judged()->add_block_squared_norms(0);
    request.mutable_seal()->mutable_judged()->set_is_finite(true);
    return Ask(request);
  }
  v1::MemoryAnswer Release(uint64_t region) {
    v1::MemoryRequest request;
    request.mutable_release()->set_region(region);
    return Ask(request);
  }
  rpc::Mapping Map(const v1::MemoryAnswer& named, rpc::Mapping::Access access) {
    v1::MemoryRequest request;
    request.mutable_map()->set_region(named.region());
    EXPECT_EQ(Ask(request).code(), 0u);
    auto mapping = rpc::Mapping::Of(socket_.TakeDescriptor(), named.region_bytes(), access);
    EXPECT_TRUE(mapping.ok()) << mapping.status();
    return *std::move(mapping);
  }
  rpc::MemorySocket& socket() { return socket_; }

 private:
  static v1::MemoryAnswer Broken() {
    v1::MemoryAnswer answer;
    answer.set_code(static_cast<uint32_t>(StatusCode::kUnavailable));
    return answer;
  }

  rpc::MemorySocket socket_;
  v1::MemoryAnswer welcome_;
};

bool IsCode(const v1::MemoryAnswer& answer, StatusCode code) {
  return answer.code() == static_cast<uint32_t>(code);
}

// Commits `count` versions of one push each, by that worker.
void CommitMore(Shards& shards, rpc::ParameterClient& client, uint64_t worker, Version from,
                uint64_t count) {
  for (uint64_t i = 1; i <= count; ++i) {
    const Payload payload = RandomPayload(shards.layout(), 100 + i);
    const store::PushId id = Push(worker, from.value() + i);
    const auto report = client.Push(id, *payload, payload);
    ASSERT_TRUE(report.ok()) << report.status();
    shards.Commit(Version(from.value() + i), {id});
  }
}

std::vector<std::byte> Copy(const rpc::Mapping& mapping) {
  return {mapping.bytes().begin(), mapping.bytes().end()};
}

TEST(MemoryServiceTest, WhatIsReadStaysAsItIsUntilItIsReleased) {
  Shards shards(Transport::kMemory, LayoutOf(50'000), 1);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  RawPeer reader(shards[0].address());
  const v1::MemoryAnswer named = reader.Pull(Version(0));
  ASSERT_NE(named.region(), 0u);
  const rpc::Mapping mapping = reader.Map(named, rpc::Mapping::Access::kRead);
  const std::vector<std::byte> before = Copy(mapping);
  CommitMore(shards, *client, 0, Version(0), 12);
  EXPECT_EQ(Copy(mapping), before);
  EXPECT_EQ(reader.Release(named.region()).code(), 0u);
  CommitMore(shards, *client, 0, Version(12), 12);
  EXPECT_NE(Copy(mapping), before) << "its memory is used again";
}

// A connection may end while its process lives and computes on what it has mapped.
TEST(MemoryServiceTest, MemoryOfAReaderThatLivesOnIsNeverUsedAgain) {
  Shards shards(Transport::kMemory, LayoutOf(50'000), 1);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  rpc::Mapping mapping;
  {
    RawPeer reader(shards[0].address());
    mapping = reader.Map(reader.Pull(Version(0)), rpc::Mapping::Access::kRead);
  }
  const std::vector<std::byte> before = Copy(mapping);
  CommitMore(shards, *client, 0, Version(0), 12);
  EXPECT_EQ(Copy(mapping), before);
}

TEST(MemoryServiceTest, AFencedWriterReachesNobodysPush) {
  Shards shards(Transport::kMemory, LayoutOf(50'000), 1);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  const uint64_t size = shards.layout().total_bytes();
  RawPeer zombie(shards[0].address());
  const rpc::Mapping mapping =
      zombie.Map(zombie.Stage(Push(1, 1), size), rpc::Mapping::Access::kWrite);
  shards[0].host().Order(protocol::Fence{WorkerId(1), Incarnation(1)});
  shards.Admit(WorkerId(1), Incarnation(2));
  // On the same connection, even: the memory of the first life is not the second one's.
  const v1::MemoryAnswer second = zombie.Stage(Push(1, 1, 2), size);
  ASSERT_EQ(second.code(), 0u) << second.message();
  RawPeer other(shards[0].address());
  const v1::MemoryAnswer third = other.Stage(Push(1, 2, 2), size);
  const rpc::Mapping written = other.Map(third, rpc::Mapping::Access::kWrite);
  std::ranges::fill(written.bytes(), std::byte{0});
  EXPECT_TRUE(IsCode(other.Seal(third.ticket(), 3), StatusCode::kInvalidArgument))
      << "a block is not judged";
  const v1::MemoryAnswer sealed = other.Seal(third.ticket(), 4);
  ASSERT_EQ(sealed.code(), 0u) << sealed.message();
  std::ranges::fill(mapping.bytes(), std::byte{0x7f});
  EXPECT_EQ(Copy(written), std::vector<std::byte>(size));
  EXPECT_TRUE(IsCode(zombie.Seal(second.ticket(), 4), StatusCode::kAborted)) << "it was taken over";
  EXPECT_TRUE(IsCode(zombie.Stage(Push(1, 9, 1), size), StatusCode::kFailedPrecondition));
}

TEST(MemoryServiceTest, APushThatOutlivesItsLifeIsNotSealed) {
  Shards shards(Transport::kMemory, LayoutOf(50'000), 1);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  RawPeer peer(shards[0].address());
  const v1::MemoryAnswer staged = peer.Stage(Push(1, 1), shards.layout().total_bytes());
  ASSERT_EQ(staged.code(), 0u) << staged.message();
  shards.Admit(WorkerId(1), Incarnation(2));
  EXPECT_TRUE(IsCode(peer.Seal(staged.ticket(), 4), StatusCode::kFailedPrecondition));
}

TEST(MemoryServiceTest, WhoBreaksTheProtocolIsLeftAndNobodyElse) {
  Shards shards(Transport::kMemory, LayoutOf(1000), 1);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  EXPECT_TRUE(IsCode(RawPeer(shards[0].address()).Ask({}), StatusCode::kUnavailable));
  EXPECT_TRUE(IsCode(RawPeer(shards[0].address()).Release(77), StatusCode::kUnavailable));
  {
    v1::MemoryRequest request;
    request.mutable_map()->set_region(1);
    EXPECT_TRUE(IsCode(RawPeer(shards[0].address()).Ask(request), StatusCode::kUnavailable))
        << "a region that nobody has named to it";
  }
  {
    RawPeer liar(shards[0].address());
    const std::string head("\xff\xff\xff\x7f", 4);
    ASSERT_EQ(::write(liar.socket().descriptor(), head.data(), head.size()), 4);
    v1::MemoryAnswer answer;
    EXPECT_EQ(liar.socket().Receive(answer, kPatience).code(), StatusCode::kUnavailable);
  }
  {
    RawPeer greedy(shards[0].address());
    for (size_t i = 0; i < MemorySession::kVersionsMax; ++i) {
      ASSERT_EQ(greedy.Pull(Version(i)).code(), 0u);
      CommitMore(shards, *client, 0, Version(i), 1);
    }
    EXPECT_TRUE(
        IsCode(greedy.Pull(Version(MemorySession::kVersionsMax)), StatusCode::kResourceExhausted));
  }
  CommitMore(shards, *client, 0, Version(MemorySession::kVersionsMax), 1);
}

TEST(MemoryServiceTest, WhereMemoryCannotBeSharedSocketsAreUsed) {
  // A shard that publishes into memory of its own, whoever listens.
  Shards shards(Transport::kUnix, LayoutOf(50'000), 1);
  const Payload initial = RandomPayload(shards.layout(), 1);
  (void)shards.Born(initial);
  auto memory = MemoryService::Start(shards[0].host(), shards[0].address());
  ASSERT_TRUE(memory.ok()) << memory.status();
  std::unique_ptr<rpc::ParameterClient> sockets = shards.Client();
  auto client = rpc::SharedMemoryClient::Create(
      {.generation = kGeneration, .shards = shards.Options().shards}, sockets);
  ASSERT_TRUE(client.ok()) << client.status();
  std::vector<std::byte> into(shards.layout().total_bytes());
  ASSERT_TRUE((*client)->Pull(Version(0), sync::Exactness::kExact, into).ok());
  EXPECT_EQ(into, *initial);
  ASSERT_TRUE((*client)->Push(Push(0, 1), *initial, initial).ok());
  shards.Commit(Version(1), {Push(0, 1)});
}

// Connections that share memory take descriptors, which gRPC needs too.
TEST(MemoryServiceTest, WhoFindsNoRoomTakesSockets) {
  Shards shards(Transport::kUnix, LayoutOf(1000), 1);
  const Payload initial = RandomPayload(shards.layout(), 1);
  (void)shards.Born(initial);
  auto memory = MemoryService::Start(shards[0].host(), shards[0].address());
  ASSERT_TRUE(memory.ok()) << memory.status();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{.rlim_cur = 64 + 6, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    const RawPeer first(shards[0].address());
    EXPECT_EQ(first.welcome().code(), 0u);
    const RawPeer second(shards[0].address());
    EXPECT_TRUE(IsCode(second.welcome(), StatusCode::kUnimplemented)) << second.welcome().message();
    std::unique_ptr<rpc::ParameterClient> sockets = shards.Client();
    const auto client = rpc::SharedMemoryClient::Create(
        {.generation = kGeneration, .shards = shards.Options().shards}, sockets);
    EXPECT_EQ(client.status().code(), StatusCode::kUnimplemented) << client.status();
    EXPECT_THAT(Message(client.status()), ::testing::HasSubstr("too many connections"));
    ASSERT_NE(sockets, nullptr);
    std::vector<std::byte> into(initial->size());
    EXPECT_TRUE(sockets->Pull(Version(0), sync::Exactness::kExact, into).ok());
  }
  // Who has gone makes room.
  EXPECT_TRUE(paceline::testing::Eventually(
      [&] { return RawPeer(shards[0].address()).welcome().code() == 0; }));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// A limit of processes counts threads.
TEST(MemoryServiceTest, WithoutAThreadToServeThemWorkersTakeSockets) {
  Shards shards(Transport::kMemory, LayoutOf(1000), 1);
  (void)shards.Born(RandomPayload(shards.layout(), 1));
  {
    const paceline::testing::FailingThreads none(0);
    const RawPeer peer(shards[0].address());
    EXPECT_TRUE(IsCode(peer.welcome(), StatusCode::kUnimplemented)) << peer.welcome().message();
    EXPECT_THAT(peer.welcome().message(), ::testing::HasSubstr("cannot start a thread"));
  }
  EXPECT_EQ(RawPeer(shards[0].address()).welcome().code(), 0u) << "the shard lives on";
}

TEST(MemoryServiceTest, WhoHasGoneLeavesNoDescriptorBehind) {
  Shards shards(Transport::kMemory, LayoutOf(1000), 1);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  // One of the two that a session has. What else is open changes as gRPC likes.
  const auto open = [] {
    return std::ranges::count_if(
        std::filesystem::directory_iterator("/proc/self/fd"), [](const auto& entry) {
          std::error_code gone;
          return std::filesystem::read_symlink(entry, gone).string().find("pidfd") !=
                 std::string::npos;
        });
  };
  ASSERT_TRUE(paceline::testing::Eventually([&] { return open() == 1; })) << "the client's own";
  {
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (int i = 0; i < 20; ++i) peers.push_back(std::make_unique<RawPeer>(shards[0].address()));
    EXPECT_TRUE(paceline::testing::Eventually([&] { return open() == 21; }));
  }
  EXPECT_TRUE(paceline::testing::Eventually([&] { return open() == 1; })) << open() << " are open";
}

TEST(MemoryServiceTest, WhoSharesNothingLeavesTheSocketsAlone) {
  Shards shards(Transport::kUnix, LayoutOf(1000), 1);
  (void)shards.Born(RandomPayload(shards.layout(), 1));
  std::unique_ptr<rpc::ParameterClient> sockets = shards.Client();
  const auto client = rpc::SharedMemoryClient::Create(
      {.generation = kGeneration, .shards = shards.Options().shards}, sockets);
  EXPECT_EQ(client.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(client.status()), ::testing::HasSubstr("shard s0: cannot connect to "));
  EXPECT_NE(sockets, nullptr);
  EXPECT_FALSE(
      rpc::SharedMemoryClient::Create({.shards = {{ShardId(0), "127.0.0.1:7601", {0, 8}}}}, sockets)
          .ok());
}

// The answer to one question must never be heard as the answer to the next one: a pull would then
// return without having copied anything.
TEST(MemoryServiceTest, AnAnswerThatComesTooLateIsNotHeardAsTheNextOne) {
  const testing::SocketFolder folder;
  const std::string address = folder.Address("late");
  const std::string path = *rpc::MemorySocketPath(address);
  telemetry::OwnedSocket listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{.sun_family = AF_UNIX};
  std::memcpy(name.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(::listen(listening.get(), 8), 0);

  // Names a region, says where it is only after the client has given up, and then has no version.
  std::atomic<bool> is_to_give_up = false;
  std::promise<void> gave_up;
  std::thread shard([&] {
    int pulls = 0;
    while (pulls < 2) {
      rpc::MemorySocket connection(
          telemetry::OwnedSocket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK)));
      (void)connection.Send(v1::MemoryAnswer(), kPatience);
      v1::MemoryRequest request;
      while (pulls < 2 && connection.Receive(request, kPatience).ok()) {
        v1::MemoryAnswer answer;
        if (request.has_map()) {
          is_to_give_up = true;
          gave_up.get_future().wait();
        } else if (pulls++ == 0) {
          answer.set_region(7);
          answer.set_region_bytes(8);
        } else {
          answer.set_code(static_cast<uint32_t>(StatusCode::kNotFound));
        }
        (void)connection.Send(answer, kPatience);
      }
    }
  });

  std::unique_ptr<rpc::ParameterClient> sockets;
  const auto client =
      rpc::SharedMemoryClient::Create({.generation = kGeneration,
                                       .shards = {{ShardId(0), address, {0, 8}}},
                                       .is_cancelled = [&] { return is_to_give_up.load(); }},
                                      sockets);
  ASSERT_TRUE(client.ok()) << client.status();
  std::vector<std::byte> into(8);
  EXPECT_EQ((*client)->Pull(Version(1), sync::Exactness::kExact, into).status().code(),
            StatusCode::kCancelled);
  is_to_give_up = false;
  gave_up.set_value();
  EXPECT_EQ((*client)->Pull(Version(1), sync::Exactness::kExact, into).status().code(),
            StatusCode::kNotFound);
  shard.join();
}

TEST(MemoryServiceTest, AShardOfAnotherUserIsLeftToSockets) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const testing::SocketFolder folder;
  const std::string address = folder.Address("theirs");
  const std::string path = *rpc::MemorySocketPath(address);
  const telemetry::OwnedSocket listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{.sun_family = AF_UNIX};
  std::memcpy(name.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(::seteuid(65534), 0);  // Whoever listens is the one at the other end.
  const int listened = ::listen(listening.get(), 8);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(listened, 0);
  std::unique_ptr<rpc::ParameterClient> sockets;
  const auto client = rpc::SharedMemoryClient::Create(
      {.generation = kGeneration, .shards = {{ShardId(0), address, {0, 8}}}}, sockets);
  EXPECT_THAT(Message(client.status()), ::testing::HasSubstr("is of user 65534, this is 0"));
}

TEST(MemoryServiceTest, NothingIsLeftOfAJob) {
  const int mapped = MappedRegions(), open = OpenRegions();
  {
    Shards shards(Transport::kMemory, LayoutOf(50'000), 2);
    const auto client = shards.Born(RandomPayload(shards.layout(), 1));
    std::vector<std::byte> into(shards.layout().total_bytes());
    ASSERT_TRUE(client->Pull(Version(0), sync::Exactness::kExact, into).ok());
    CommitMore(shards, *client, 0, Version(0), 3);
    EXPECT_GT(MappedRegions(), mapped);
    EXPECT_GT(OpenRegions(), open);
  }
  EXPECT_EQ(MappedRegions(), mapped);
  EXPECT_EQ(OpenRegions(), open);
}

TEST(MemoryServiceTest, RegionsDoNotBecomeMoreAsVersionsGoBy) {
  Shards shards(Transport::kMemory, LayoutOf(50'000), 1);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  std::vector<std::byte> into(shards.layout().total_bytes());
  int after_first = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    CommitMore(shards, *client, 0, Version(i), 1);
    ASSERT_TRUE(client->Pull(Version(i + 1), sync::Exactness::kExact, into).ok());
    if (i == 5) after_first = MappedRegions();
  }
  EXPECT_EQ(MappedRegions(), after_first);
}

}  // namespace
}  // namespace paceline::ps
