// Averages of parameters, as evaluators and the coordinator pull them, by every transport.
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/rpc/bulk/transfers.h"
#include "lib/store/kernels.h"
#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using sync::Exactness;
using ::testing::HasSubstr;
using testing::LayoutOf;
using testing::NameOf;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using testing::SocketFolder;
using testing::Transport;

constexpr double kDecay = 0.75;
constexpr int64_t kParameters = 600'000;  // Enough for versions to be held.

using Bytes = std::vector<std::byte>;

struct Case {
  Transport transport;
  uint32_t shards;
};

Bytes Pulled(rpc::ParameterClient& client, const store::Layout& layout, uint64_t version) {
  Bytes into(layout.total_bytes());
  const auto report = client.Pull(Version(version), Exactness::kExact, into);
  EXPECT_TRUE(report.ok() && !report->is_superseded) << report.status();
  return into;
}

// A job's shards, a worker, an evaluator, and what the average has to be.
struct World {
  explicit World(const Case& with, std::optional<double> decay = kDecay)
      : shards(with.transport, LayoutOf(kParameters), with.shards) {
    shards.average_decay = decay;
    const Payload initial = RandomPayload(layout(), 100);
    worker = shards.Born(initial);
    average = *initial;
    rpc::GrpcParameterClientOptions options = shards.Options();
    options.pulls_average = true;
    evaluator = shards.BareClient(options);
  }
  const store::Layout& layout() const { return shards.layout(); }

  // Publishes the next version; returns its values.
  Bytes Commit(bool is_pinned = false) {
    const uint64_t version = ++committed;
    const store::PushId push{WorkerId(0), Incarnation(1), Sequence(version)};
    const Payload payload = RandomPayload(layout(), version);
    EXPECT_TRUE(worker->Push(push, *payload, payload).ok());
    shards.Commit(Version(version), {push}, is_pinned);
    Bytes now = Pulled(*worker, layout(), version);
    const uint64_t end = layout().parameter_bytes();
    const auto part = [end](Bytes& bytes) {
      return store::View<float>(std::span<std::byte>(bytes), 0, end);
    };
    if (version == 1) {
      std::ranges::copy(part(now), part(average).begin());
    } else {
      store::Lerp(part(now), static_cast<float>(1 - kDecay), part(average));
    }
    std::copy(now.begin() + end, now.end(), average.begin() + end);
    return now;
  }

  Shards shards;
  std::unique_ptr<rpc::ParameterClient> worker, evaluator;
  uint64_t committed = 0;
  Bytes average;
};

class AverageTest : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, AverageTest,
                         ::testing::Values(Case{Transport::kUnix, 1}, Case{Transport::kTcp, 2},
                                           Case{Transport::kMemory, 1},
                                           Case{Transport::kMemory, 2}),
                         [](const auto& info) {
                           return NameOf(info.param.transport) + std::to_string(info.param.shards);
                         });

TEST_P(AverageTest, IsWhatWhoeverAsksForItGetsAndNobodyElse) {
  World world(GetParam());
  EXPECT_EQ(Pulled(*world.evaluator, world.layout(), 0), world.average);
  for (int i = 1; i <= 4; ++i) {
    const Bytes plain = world.Commit();
    ASSERT_NE(i == 1, plain != world.average);
    EXPECT_EQ(Pulled(*world.evaluator, world.layout(), i), world.average) << i;
    EXPECT_EQ(Pulled(*world.worker, world.layout(), i), plain) << i;
  }
}

TEST_P(AverageTest, OfAPinnedVersionStaysUntilItIsUnpinned) {
  World world(GetParam());
  world.Commit();
  world.Commit(true);
  const Bytes pinned = world.average;
  for (int i = 0; i < 3; ++i) world.Commit();
  EXPECT_EQ(Pulled(*world.evaluator, world.layout(), 2), pinned);
  // Without a pin the newest but one is superseded, though it can be pulled as it is.
  Bytes into(world.layout().total_bytes());
  (void)Pulled(*world.worker, world.layout(), 4);
  const auto gone = world.evaluator->Pull(Version(4), Exactness::kExact, into);
  ASSERT_TRUE(gone.ok()) << gone.status();
  EXPECT_TRUE(gone->is_superseded);
  EXPECT_EQ(gone->newest, Version(5));
  EXPECT_EQ(Pulled(*world.evaluator, world.layout(), 5), world.average);
}

TEST_P(AverageTest, IsHeldWhereVersionsAreHeld) {
  World world(GetParam());
  world.Commit();
  world.Commit(true);
  const Bytes pinned = world.average;
  std::shared_ptr<rpc::VersionPlace> place;
  const auto held = world.evaluator->Hold(Version(2), Exactness::kExact, [&](const auto& there) {
    place = there;
    return true;
  });
  ASSERT_TRUE(held.ok()) << held.status();
  ASSERT_EQ(held->has_value(), GetParam().transport == Transport::kMemory);
  for (size_t rank = 0; rank < GetParam().shards; ++rank)
    world.shards[rank].host().Order(protocol::Unpin{Version(2)});
  for (int i = 0; i < 4; ++i) world.Commit(i == 1);
  if (*held) {
    EXPECT_EQ(Bytes(place->bytes().begin(), place->bytes().end()), pinned);
  }
  EXPECT_EQ(Pulled(*world.evaluator, world.layout(), 6), world.average);
}

// Rounded numbers are kept for all who ask for a version: an average is none of them.
TEST_P(AverageTest, ComesAsFloat32WhateverElseIsAskedFor) {
  World world(GetParam());
  world.Commit();
  world.Commit();
  rpc::GrpcParameterClientOptions options = world.shards.Options();
  options.types.parameters = WireType::kBfloat16;
  const auto rounding = world.shards.BareClient(options);
  options.pulls_average = true;
  const auto both = world.shards.BareClient(options);
  EXPECT_EQ(Pulled(*both, world.layout(), 2), world.average);
  EXPECT_NE(Pulled(*rounding, world.layout(), 2), world.average);
  EXPECT_EQ(Pulled(*both, world.layout(), 2), world.average);
}

TEST_P(AverageTest, WhereNoneIsKeptThatIsSaid) {
  World world(GetParam(), std::nullopt);
  Bytes into(world.layout().total_bytes());
  const auto report = world.evaluator->Pull(Version(0), Exactness::kExact, into);
  EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(report.status()), HasSubstr("spec.training.ema was absent"));
}

// A shard that does not know the field sends what it has.
TEST(OlderShardTest, IsNotTakenAtItsWordOverGrpc) {
  Bytes slice(8);
  for (const bool is_marked : {false, true}) {
    rpc::PullTransfer pull(1, {1, 0}, Version(3), Exactness::kExact, slice, 0, true);
    const Status status = pull.Received(rpc::EncodeChunk({.kind = rpc::ChunkKind::kPullAnswer,
                                                          .transfer = 1,
                                                          .version = Version(3),
                                                          .total_bytes = 8,
                                                          .is_last = true,
                                                          .is_average = is_marked},
                                                         Bytes(8), nullptr));
    EXPECT_EQ(status.code(), is_marked ? StatusCode::kOk : StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr(is_marked ? "" : "release that knows of none"));
  }
}

TEST(OlderShardTest, IsNotTakenAtItsWordThroughSharedMemory) {
  const SocketFolder folder;
  const protocol::ShardAddress shard{ShardId(0), folder.Address("s0"), {0, 8}};
  const std::string path = *rpc::MemorySocketPath(shard.address);
  const telemetry::OwnedSocket listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{.sun_family = AF_UNIX};
  std::strncpy(name.sun_path, path.c_str(), sizeof(name.sun_path) - 1);
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(::listen(listening.get(), 4), 0);
  std::thread older([&] {
    rpc::MemorySocket peer(
        telemetry::OwnedSocket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK)));
    (void)peer.Send(v1::MemoryAnswer(), Seconds(10));  // Welcome.
    v1::MemoryRequest request;
    while (peer.Receive(request, Seconds(10)).ok()) {
      v1::MemoryAnswer answer;
      answer.set_version(request.pull().version());
      if (!peer.Send(answer, Seconds(10)).ok()) break;
    }
  });
  {
    rpc::GrpcParameterClientOptions options{.generation = {1, 0}, .shards = {shard}};
    std::unique_ptr<rpc::ParameterClient> sockets = *rpc::GrpcParameterClient::Create(options);
    auto client = rpc::SharedMemoryClient::Create(
        {.generation = {1, 0}, .shards = {shard}, .pulls_average = true}, sockets);
    ASSERT_TRUE(client.ok()) << client.status();
    Bytes into(8);
    const auto report = (*client)->Pull(Version(3), Exactness::kExact, into);
    EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(report.status()), HasSubstr("release that knows of none"));
  }
  older.join();
}

}  // namespace
}  // namespace paceline::ps
