// Pushes, fills and pulls over real gRPC, against real shards.
#include <cstring>
#include <limits>
#include <thread>
#include <tuple>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/rpc/bulk/in_process_parameter_client.h"
#include "lib/rpc/bulk/retrying_parameter_client.h"
#include "lib/rpc/testing/flaky_parameter_client.h"
#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using ::testing::HasSubstr;
using testing::kGeneration;
using testing::LayoutOf;
using testing::NameOf;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using ::testing::TestWithParam;
using testing::Transport;

store::PushId Push(uint64_t worker, uint64_t sequence, uint64_t incarnation = 1) {
  return {WorkerId(worker), Incarnation(incarnation), Sequence(sequence)};
}

std::vector<std::byte> Pulled(rpc::ParameterClient& client, const store::Layout& layout,
                              Version version) {
  std::vector<std::byte> into(layout.total_bytes());
  const auto report = client.Pull(version, sync::Exactness::kExact, into);
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report.ok() && report->is_superseded);
  return into;
}

// One shard of everything, without a network: what the others must equal, bit by bit.
class Reference {
 public:
  Reference(const store::Layout& layout, const Payload& initial)
      : shard_(store::Shard::Create({.layout = layout,
                                     .slice = {0, layout.total_bytes()},
                                     .optimizer = optim::SgdOptions{.momentum = 0.9}})
                   .value()),
        client_({shard_}) {
    EXPECT_TRUE(client_.Fill(WorkerId(0), Incarnation(1), *initial, initial).ok());
    EXPECT_TRUE(shard_->Open().ok());
  }
  rpc::ParameterClient& client() { return client_; }
  void Commit(Version version, const std::vector<store::PushId>& pushes) {
    for (const auto& push : pushes) EXPECT_TRUE(shard_->Accumulate(push, 2).ok());
    EXPECT_TRUE(
        shard_->Commit({.version = version, .gradient_scale = 0.5, .learning_rate = 0.125}).ok());
  }

 private:
  std::shared_ptr<store::Shard> shard_;
  rpc::InProcessParameterClient client_;
};

class DataPlaneTest : public TestWithParam<std::tuple<Transport, uint32_t>> {};

TEST_P(DataPlaneTest, AnyNumberOfShardsGivesTheSameBits) {
  const auto [transport, count] = GetParam();
  Shards shards(transport, LayoutOf(1'500'001),
                count);  // Six megabytes: several chunks a shard, a ragged end.
  const Payload initial = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(initial);
  Reference reference(shards.layout(), initial);
  EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *initial);
  for (uint64_t step = 1; step <= 3; ++step) {
    const std::vector<store::PushId> pushes{Push(0, step), Push(1, step)};
    for (const auto& push : pushes) {
      const Payload payload = RandomPayload(shards.layout(), 10 * step + push.worker.value());
      const auto report = client->Push(push, *payload, payload);
      ASSERT_TRUE(report.ok()) << report.status();
      const auto expected = reference.client().Push(push, *payload, payload);
      EXPECT_EQ(report->squared_norm, expected->squared_norm);
      EXPECT_TRUE(report->is_finite);
    }
    shards.Commit(Version(step), pushes);
    reference.Commit(Version(step), pushes);
    EXPECT_EQ(Pulled(*client, shards.layout(), Version(step)),
              Pulled(reference.client(), shards.layout(), Version(step)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, DataPlaneTest,
                         ::testing::Combine(::testing::Values(Transport::kUnix, Transport::kTcp,
                                                              Transport::kMemory),
                                            ::testing::Values(1u, 2u, 4u)),
                         [](const auto& info) {
                           return fmt::format("{}{}Shards", NameOf(std::get<0>(info.param)),
                                              std::get<1>(info.param));
                         });

class OneMachineTest : public TestWithParam<Transport> {};

INSTANTIATE_TEST_SUITE_P(All, OneMachineTest,
                         ::testing::Values(Transport::kUnix, Transport::kTcp, Transport::kMemory),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(OneMachineTest, ShardsWithEmptySlicesTakePart) {
  Shards shards(GetParam(), LayoutOf(10), 4);  // One block for four shards.
  const Payload initial = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(initial);
  EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *initial);
  EXPECT_TRUE(client->Push(Push(0, 1), *initial, initial).ok());
}

TEST(DataPlane, ChunksOfAnySizeCarryTheSame) {
  for (const uint64_t chunk_bytes : {1000u, 65'537u, 1u << 30}) {
    Shards shards(Transport::kUnix, LayoutOf(300'000), 2);
    shards.Configure();
    auto options = shards.Options();
    options.chunk_bytes = chunk_bytes;
    const auto client = shards.BareClient(options);
    const Payload initial = RandomPayload(shards.layout(), 1);
    ASSERT_TRUE(client->Fill(WorkerId(0), Incarnation(1), *initial, initial).ok());
    shards.Open(WorkerId(0), Incarnation(1));
    EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *initial) << chunk_bytes;
  }
}

TEST_P(OneMachineTest, NonFiniteValuesAreReported) {
  Shards shards(GetParam(), LayoutOf(100'000), 2);
  const auto client = shards.Born(RandomPayload(shards.layout(), 1));
  const Payload payload = RandomPayload(shards.layout(), 2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(payload->data() + shards.layout().parameter_bytes() - 4, &nan, 4);
  const auto report = client->Push(Push(0, 1), *payload, payload);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->is_finite);
}

TEST_P(OneMachineTest, RetriedPushGetsTheFirstAnswer) {
  Shards shards(GetParam(), LayoutOf(100'000), 2);
  (void)shards.Born(RandomPayload(shards.layout(), 1));
  rpc::RetryingParameterClient client(
      std::make_unique<rpc::testing::FlakyParameterClient>(
          shards.BareClient(),
          std::deque{rpc::testing::Mishap::kAnswerLost, rpc::testing::Mishap::kRequestLost,
                     rpc::testing::Mishap::kAnswerLost}),
      {.attempts_max = 4}, [](Duration) {});
  const Payload payload = RandomPayload(shards.layout(), 2);
  const auto report = client.Push(Push(0, 1), *payload, payload);
  ASSERT_TRUE(report.ok()) << report.status();
  const Payload other = RandomPayload(shards.layout(), 3);
  const auto again = client.Push(Push(0, 1), *other, other);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->squared_norm, report->squared_norm) << "the second copy was taken";
}

TEST_P(OneMachineTest, RetriedFillGetsTheFirstAnswer) {
  Shards shards(GetParam(), LayoutOf(100'000), 2);
  shards.Configure();
  const auto client = shards.BareClient();
  const Payload initial = RandomPayload(shards.layout(), 1);
  ASSERT_TRUE(client->Fill(WorkerId(0), Incarnation(1), *initial, initial).ok());
  const Payload other = RandomPayload(shards.layout(), 2);
  ASSERT_TRUE(client->Fill(WorkerId(0), Incarnation(1), *other, other).ok());
  shards.Open(WorkerId(0), Incarnation(1));
  EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *initial);
  EXPECT_TRUE(client->Fill(WorkerId(0), Incarnation(1), *other, other).ok())
      << "a retry after Open";
  EXPECT_EQ(client->Fill(WorkerId(1), Incarnation(1), *other, other).code(),
            StatusCode::kFailedPrecondition);
}

TEST_P(OneMachineTest, NewerFillTakesOver) {
  Shards shards(GetParam(), LayoutOf(100'000), 1);
  shards.Configure();
  const auto client = shards.BareClient();
  const Payload first = RandomPayload(shards.layout(), 1);
  const Payload second = RandomPayload(shards.layout(), 2);
  ASSERT_TRUE(client->Fill(WorkerId(0), Incarnation(1), *first, first).ok());
  EXPECT_EQ(shards[0].Await<protocol::Filled>().worker, WorkerId(0));
  ASSERT_TRUE(client->Fill(WorkerId(1), Incarnation(1), *second, second).ok());
  shards.Open(WorkerId(1), Incarnation(1));
  EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *second);
}

TEST_P(OneMachineTest, StreamsComeBackAfterTheServerDid) {
  Shards shards(GetParam(), LayoutOf(500'000), 2);
  const Payload initial = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(initial);
  const Payload payload = RandomPayload(shards.layout(), 2);
  ASSERT_TRUE(client->Push(Push(0, 1), *payload, payload).ok());
  EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *initial);
  shards[1].StopListening();
  shards[1].Listen();
  const auto again = client->Push(Push(0, 1), *payload, payload);
  EXPECT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *initial);
}

TEST_P(OneMachineTest, ShardThatIsGoneIsNamed) {
  Shards shards(GetParam(), LayoutOf(100'000), 2);
  const Payload initial = RandomPayload(shards.layout(), 1);
  (void)shards.Born(initial);
  const auto client = shards.BareClient();
  shards[1].StopListening();
  const Status status = client->Push(Push(0, 1), *initial, initial).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("shard s1: "));
}

TEST_P(OneMachineTest, UnconfiguredShardAsksForAnotherTry) {
  Shards shards(GetParam(), LayoutOf(1000), 1);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.BareClient();
  EXPECT_EQ(client->Push(Push(0, 1), *payload, payload).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(client->Fill(WorkerId(0), Incarnation(1), *payload, payload).code(),
            StatusCode::kUnavailable);
  std::vector<std::byte> into(payload->size());
  EXPECT_EQ(client->Pull(Version(0), sync::Exactness::kExact, into).status().code(),
            StatusCode::kUnavailable);
}

TEST_P(OneMachineTest, AnotherGenerationIsRefused) {
  Shards shards(GetParam(), LayoutOf(1'000'000), 2);
  const Payload payload = RandomPayload(shards.layout(), 1);
  (void)shards.Born(payload);
  auto options = shards.Options();
  options.generation.counter = 2;
  const auto client = shards.BareClient(options);
  const Status status = client->Push(Push(0, 1), *payload, payload).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("shard s0: generation differs: got g1.2, want g1.1"));
  std::vector<std::byte> into(payload->size());
  EXPECT_EQ(client->Pull(Version(0), sync::Exactness::kExact, into).status().code(),
            StatusCode::kFailedPrecondition);
  // The refusal came early; the rest of the chunks must not disturb what follows on the stream.
  EXPECT_EQ(client->Push(Push(0, 1), *payload, payload).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_P(OneMachineTest, FencedLifeOfAWorkerIsRefusedAndTheNextIsNot) {
  Shards shards(GetParam(), LayoutOf(1'000'000), 1);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  shards[0].host().Order(protocol::Fence{WorkerId(0), Incarnation(1)});
  while (shards[0].host().CheckLife(WorkerId(0), Incarnation(1)).ok()) std::this_thread::yield();
  EXPECT_EQ(client->Push(Push(0, 1), *payload, payload).status().code(),
            StatusCode::kFailedPrecondition);
  shards.Admit(WorkerId(0), Incarnation(2));
  EXPECT_TRUE(client->Push(Push(0, 1, 2), *payload, payload).ok());
  EXPECT_EQ(client->Push(Push(0, 2, 1), *payload, payload).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_P(OneMachineTest, HugeIncarnationLocksNobodyOut) {
  Shards shards(GetParam(), LayoutOf(1000), 2);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  const auto bare = shards.BareClient();
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  for (const uint64_t incarnation : {uint64_t{2}, kHuge}) {
    const Status status = bare->Push(Push(0, 1, incarnation), *payload, payload).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
    EXPECT_THAT(Message(status), HasSubstr("life of the worker is not admitted here: w0 i"));
  }
  // This life goes on, and so does the next one.
  EXPECT_TRUE(bare->Push(Push(0, 1), *payload, payload).ok());
  shards.Admit(WorkerId(0), Incarnation(2));
  EXPECT_TRUE(bare->Push(Push(0, 1, 2), *payload, payload).ok());
  shards.Commit(Version(1), {Push(0, 1, 2)});
}

TEST_P(OneMachineTest, StrangersLifeFillsNothing) {
  Shards shards(GetParam(), LayoutOf(1000), 1);
  shards.Configure();
  const auto client = shards.BareClient();
  const Payload initial = RandomPayload(shards.layout(), 1);
  const Payload other = RandomPayload(shards.layout(), 2);
  ASSERT_TRUE(client->Fill(WorkerId(0), Incarnation(1), *initial, initial).ok());
  EXPECT_EQ(client->Fill(WorkerId(0), Incarnation(7), *other, other).code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(client->Fill(WorkerId(70), Incarnation(1), *other, other).code(),
            StatusCode::kUnavailable);
  shards.Open(WorkerId(0), Incarnation(1));
  EXPECT_EQ(Pulled(*client, shards.layout(), Version(0)), *initial);
}

TEST_P(OneMachineTest, FullSlotsAreRefusedUntilAnswered) {
  Shards shards(GetParam(), LayoutOf(1000), 1);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  ASSERT_TRUE(client->Push(Push(0, 1), *payload, payload).ok());
  EXPECT_EQ(shards.BareClient()->Push(Push(0, 2), *payload, payload).status().code(),
            StatusCode::kResourceExhausted);
  shards.Commit(Version(1), {Push(0, 1)});
  EXPECT_TRUE(client->Push(Push(0, 2), *payload, payload).ok());
}

TEST_P(OneMachineTest, EvictedVersionIsSupersededByTheNewest) {
  Shards shards(GetParam(), LayoutOf(100'000), 2);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  for (uint64_t version = 1; version <= 3; ++version) {
    ASSERT_TRUE(client->Push(Push(0, version), *payload, payload).ok());
    shards.Commit(Version(version), {Push(0, version)});
  }
  std::vector<std::byte> into(payload->size());
  const auto report = client->Pull(Version(0), sync::Exactness::kExact, into);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->is_superseded);
  EXPECT_EQ(report->newest, Version(3));
  const auto newest = client->Pull(Version(0), sync::Exactness::kAtLeast, into);
  ASSERT_TRUE(newest.ok());
  EXPECT_FALSE(newest->is_superseded);
  EXPECT_EQ(newest->oldest, Version(3));
  EXPECT_EQ(into, Pulled(*client, shards.layout(), Version(3)));
  EXPECT_EQ(shards.BareClient()->Pull(Version(4), sync::Exactness::kAtLeast, into).status().code(),
            StatusCode::kUnavailable)
      << "a version that is not there yet";
}

TEST_P(OneMachineTest, LayoutsOfOtherSizesAreRefused) {
  Shards shards(GetParam(), LayoutOf(1000), 1);
  (void)shards.Born(RandomPayload(shards.layout(), 1));
  auto options = shards.Options();
  options.shards[0].slice.end_bytes += 4;
  const auto client = shards.BareClient(options);
  std::vector<std::byte> place(options.shards[0].slice.size_bytes());
  const auto owner = std::make_shared<std::vector<std::byte>>(place);
  EXPECT_EQ(client->Push(Push(0, 1), *owner, owner).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client->Pull(Version(0), sync::Exactness::kExact, place).status().code(),
            StatusCode::kInvalidArgument);
  place.pop_back();
  EXPECT_THAT(Message(client->Pull(Version(0), sync::Exactness::kExact, place).status()),
              HasSubstr("size of the place to pull into differs"));
}

TEST(DataPlane, SilentShardRunsIntoTheDeadlineAndMemoryIsGivenBack) {
  const testing::SocketFolder folder;
  // Accepts connections in the kernel and never answers.
  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(name);
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&name), size), 0);
  ASSERT_EQ(::listen(silent, 8), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&name), &size), 0);
  auto client = *rpc::GrpcParameterClient::Create(
      {.shards = {{ShardId(0), fmt::format("127.0.0.1:{}", ntohs(name.sin_port)), {0, 1000}}},
       .idle_timeout = Seconds(0.05)});
  auto payload = std::make_shared<std::vector<std::byte>>(1000);
  const std::weak_ptr<const void> watch = payload;
  const Status status = client->Push(Push(0, 1), *payload, payload).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(Message(status), HasSubstr("shard s0: "));
  payload.reset();
  client.reset();
  while (!watch.expired())
    std::this_thread::yield();  // On gRPC's threads; the test's timeout is the limit.
  ::close(silent);
}

TEST_P(OneMachineTest, ManyTransfersShareAStream) {
  Shards shards(GetParam(), LayoutOf(100), 2);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  for (uint64_t i = 1; i <= 500; ++i) {
    shards.Admit(WorkerId(0), Incarnation(1 + i));
    ASSERT_TRUE(client->Push(Push(0, 1, 1 + i), *payload, payload)
                    .ok());  // A new life each: the slot is free.
    ASSERT_EQ(Pulled(*client, shards.layout(), Version(0)), *payload);
  }
}

TEST(GrpcParameterClientTest, SlicesMustFollowEachOther) {
  EXPECT_FALSE(rpc::GrpcParameterClient::Create({}).ok());
  EXPECT_FALSE(
      rpc::GrpcParameterClient::Create({.shards = {{ShardId(1), "unix:/tmp/x", {0, 10}}}}).ok());
  const auto gap = rpc::GrpcParameterClient::Create(
      {.shards = {{ShardId(0), "unix:/tmp/x", {0, 10}}, {ShardId(1), "unix:/tmp/y", {11, 20}}}});
  EXPECT_THAT(Message(gap.status()),
              HasSubstr("slices do not follow each other: s1 has [11, 20), want rank 1 from 10"));
}

}  // namespace
}  // namespace paceline::ps
