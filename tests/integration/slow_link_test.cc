// Transfers over links that are slow, and over links that stop: what counts is whether bytes move.
#include <chrono>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "lib/base/testing/eventually.h"
#include "ps-server/service/data_plane_testing.h"
#include "tests/support/link_proxy.h"

namespace paceline::ps {
namespace {

using paceline::testing::Eventually;
using paceline::testing::LinkProxy;
using ::testing::HasSubstr;
using testing::kGeneration;
using testing::LayoutOf;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using testing::Transport;

constexpr double kSlow = 1e6;  // Bytes per second.
constexpr std::chrono::seconds kPatience(30);

// One shard with five megabytes, and a link to it.
class SlowLinkTest : public ::testing::Test {
 protected:
  SlowLinkTest() { shards_.Born(payload_); }

  std::unique_ptr<rpc::ParameterClient> Through(LinkProxy& link, Duration idle) const {
    rpc::GrpcParameterClientOptions options = shards_.Options();
    options.shards[0].address = link.address();
    options.idle_timeout = idle;
    return shards_.BareClient(std::move(options));
  }

  Shards shards_{Transport::kTcp, LayoutOf(1'300'000), 1, Seconds(2)};
  const Payload payload_ = RandomPayload(shards_.layout(), 1);
  LinkProxy link_{"127.0.0.1:0", shards_[0].address()};
};

// Two and a half times as long as the deadline, each way.
TEST_F(SlowLinkTest, SlowTransferTakesAsLongAsItTakes) {
  link_.SetBytesPerSecond(kSlow);
  std::thread pull([this] {
    const auto client = Through(link_, Seconds(2));
    std::vector<std::byte> into(payload_->size());
    const auto report = client->Pull(Version(0), sync::Exactness::kExact, into);
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(into == *payload_);
  });
  const auto client = Through(link_, Seconds(2));
  const auto report = client->Push({WorkerId(1), Incarnation(1), Sequence(1)}, *payload_, payload_);
  EXPECT_TRUE(report.ok()) << report.status();
  pull.join();
}

TEST_F(SlowLinkTest, TransferOverALinkThatStopsEnds) {
  link_.SetBytesPerSecond(4 * kSlow);
  const auto client = Through(link_, Seconds(1));
  std::thread stop([this] {
    EXPECT_TRUE(Eventually([this] { return link_.passed_bytes() > payload_->size() / 4; }));
    link_.Freeze();
  });
  const auto report = client->Push({WorkerId(1), Incarnation(1), Sequence(1)}, *payload_, payload_);
  stop.join();
  EXPECT_EQ(report.status().code(), StatusCode::kDeadlineExceeded) << report.status();
  EXPECT_THAT(Message(report.status()), HasSubstr("shard s0: no byte moved within 1 s"));
  std::vector<std::byte> into(payload_->size());
  const auto pulled = client->Pull(Version(0), sync::Exactness::kExact, into);
  EXPECT_EQ(pulled.status().code(), StatusCode::kDeadlineExceeded) << pulled.status();
  link_.Thaw();
  link_.SetBytesPerSecond(0);
  const auto again = client->Push({WorkerId(1), Incarnation(1), Sequence(1)}, *payload_, payload_);
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST_F(SlowLinkTest, TransferThatNobodyWaitsForEndsAtOnce) {
  rpc::GrpcParameterClientOptions options = shards_.Options();
  options.shards[0].address = link_.address();
  options.is_cancelled = [this] { return link_.passed_bytes() > payload_->size() / 4; };
  link_.SetBytesPerSecond(kSlow);
  const auto client = shards_.BareClient(std::move(options));
  const auto report = client->Push({WorkerId(1), Incarnation(1), Sequence(1)}, *payload_, payload_);
  EXPECT_EQ(report.status().code(), StatusCode::kCancelled) << report.status();
}

// Bytes are on their way while the rest is being made.
TEST_F(SlowLinkTest, ABegunPushTravelsWhileItIsMade) {
  const auto client = Through(link_, Seconds(2));
  const std::span<const std::byte> bytes(*payload_);
  const uint64_t before = link_.passed_bytes();
  const auto begun = client->BeginPush({WorkerId(1), Incarnation(1), Sequence(1)});
  ASSERT_NE(begun, nullptr);
  begun->Put(bytes.size() / 8 * 4, bytes.subspan(bytes.size() / 8 * 4));
  EXPECT_TRUE(Eventually([&] { return link_.passed_bytes() - before >= bytes.size() / 2; }));
  begun->Put(0, bytes.first(bytes.size() / 8 * 4));
  const auto report = begun->Seal();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(
      report->squared_norm,
      client->Push({WorkerId(2), Incarnation(1), Sequence(1)}, *payload_, payload_)->squared_norm);
}

// A computation that takes longer than a link may be silent: the shard gives the push up, and it is
// sent as a whole.
TEST_F(SlowLinkTest, ABegunPushThatIsSilentForTooLongIsSentAgain) {
  rpc::RetryingParameterClient client(Through(link_, Seconds(2)), {});
  const std::span<const std::byte> bytes(*payload_);
  const uint64_t half = bytes.size() / 8 * 4;
  const auto begun = client.BeginPush({WorkerId(1), Incarnation(1), Sequence(1)});
  ASSERT_NE(begun, nullptr);
  begun->Put(0, bytes.first(half));
  // All of the half, and what goes around it: nothing has passed since the last look.
  uint64_t silent = 0;
  EXPECT_TRUE(Eventually([&] {
    const uint64_t before = std::exchange(silent, link_.passed_bytes());
    return silent >= half && silent == before;
  }));
  // What passes next is the shard's word that it waits no more.
  EXPECT_TRUE(Eventually([&] { return link_.passed_bytes() > silent; }));
  begun->Put(half, bytes.subspan(half));
  const auto report = begun->Seal();
  EXPECT_TRUE(report.ok()) << report.status();
}

// --- The shard's own side: a peer that is there, and neither sends nor takes.

class SilentPeerTest : public ::testing::Test {
 protected:
  SilentPeerTest() { shards_.Born(payload_); }

  // Sends the begin of a push on a stream of its own, and waits until the shard gives it up.
  void BeOutwaited() const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const auto stream = stub_->Push(&context);
    v1::Chunk chunk;
    chunk.set_kind(v1::CHUNK_KIND_PUSH);
    chunk.set_transfer(1);
    chunk.set_generation_start(kGeneration.start);
    chunk.set_generation_counter(kGeneration.counter);
    chunk.set_worker(5);
    chunk.set_incarnation(1);
    chunk.set_sequence(1);
    chunk.set_total_bytes(payload_->size());
    chunk.set_data(payload_->data(), 1000);
    ASSERT_TRUE(stream->Write(chunk));
    v1::PushReceipt receipt;
    EXPECT_FALSE(stream->Read(&receipt));
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("no byte moved within 1 s"));
  }

  Shards shards_{Transport::kUnix, LayoutOf(1'300'000), 1, Seconds(1)};
  const Payload payload_ = RandomPayload(shards_.layout(), 1);
  std::unique_ptr<v1::Shard::Stub> stub_ = v1::Shard::NewStub(
      grpc::CreateChannel(shards_[0].address(), grpc::InsecureChannelCredentials()));
};

TEST_F(SilentPeerTest, HalfAPushIsNotWaitedForForEver) { BeOutwaited(); }

TEST_F(SilentPeerTest, VersionThatNobodyTakesIsLetGo) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const auto stream = stub_->Pull(&context);
  const auto shard = shards_[0].host().Serving(kGeneration).value();
  const std::weak_ptr<const store::Published> held = shard->Newest();
  v1::PullRequest request;
  request.set_transfer(1);
  request.mutable_generation()->set_start(kGeneration.start);
  request.mutable_generation()->set_counter(kGeneration.counter);
  request.set_exactness(v1::EXACTNESS_EXACT);
  ASSERT_TRUE(stream->Write(request));
  const auto client = shards_.Client();
  // Two newer ones: the first is the pull's alone.
  for (uint64_t step = 1; step <= 2; ++step) {
    const store::PushId id{WorkerId(1), Incarnation(1), Sequence(step)};
    ASSERT_TRUE(client->Push(id, *payload_, payload_).ok());
    shards_.Commit(Version(step), {id});
  }
  EXPECT_TRUE(Eventually([&] { return held.expired(); }));
  v1::Chunk sent;  // Before the stream was ended; gRPC hands out all of it before the end.
  while (stream->Read(&sent)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

// An open stream that has nothing to do may stay so: for longer than two others together, which
// begin later, each silent in the middle of a push, until the shard ends them for it.
TEST_F(SilentPeerTest, IdleStreamStays) {
  const auto client = shards_.BareClient();
  std::vector<std::byte> into(payload_->size());
  ASSERT_TRUE(client->Pull(Version(0), sync::Exactness::kExact, into).ok());
  BeOutwaited();
  BeOutwaited();
  EXPECT_TRUE(client->Pull(Version(0), sync::Exactness::kExact, into).ok());
}

}  // namespace
}  // namespace paceline::ps
