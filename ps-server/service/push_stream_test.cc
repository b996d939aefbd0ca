// What a shard says to workers that do not keep to the protocol, or vanish in the middle.
#include <deque>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using ::testing::HasSubstr;
using testing::kGeneration;
using testing::LayoutOf;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using testing::Transport;

// Speaks through the generated classes, so that it can say anything.
class PushStreamTest : public ::testing::Test {
 protected:
  PushStreamTest()
      : shards_(Transport::kUnix, LayoutOf(100'000), 1),
        payload_(RandomPayload(shards_.layout(), 1)),
        client_(shards_.Born(payload_)),
        stub_(v1::Shard::NewStub(
            grpc::CreateChannel(shards_[0].address(), grpc::InsecureChannelCredentials()))) {}

  v1::Chunk Chunk(uint64_t offset, uint64_t size) const {
    v1::Chunk chunk;
    chunk.set_kind(v1::CHUNK_KIND_PUSH);
    chunk.set_transfer(1);
    chunk.set_generation_start(kGeneration.start);
    chunk.set_generation_counter(kGeneration.counter);
    chunk.set_worker(5);
    chunk.set_incarnation(1);
    chunk.set_sequence(1);
    chunk.set_offset_bytes(offset);
    chunk.set_total_bytes(payload_->size());
    chunk.set_is_last(offset + size == payload_->size());
    chunk.set_data(payload_->data() + offset, size);
    return chunk;
  }

  // Sends these on one stream; how it ended.
  grpc::Status Send(const std::vector<v1::Chunk>& chunks) {
    grpc::ClientContext context;
    const auto stream = stub_->Push(&context);
    for (const v1::Chunk& chunk : chunks) (void)stream->Write(chunk);
    stream->WritesDone();
    v1::PushReceipt receipt;
    while (stream->Read(&receipt)) receipts_.push_back(receipt);
    return stream->Finish();
  }

  Shards shards_;
  const Payload payload_;
  std::unique_ptr<rpc::ParameterClient> client_;
  std::unique_ptr<v1::Shard::Stub> stub_;
  std::vector<v1::PushReceipt> receipts_;
};

TEST_F(PushStreamTest, GeneratedClassesCanPush) {
  const uint64_t half = payload_->size() / 2;
  EXPECT_TRUE(Send({Chunk(0, half), Chunk(half, payload_->size() - half)}).ok());
  ASSERT_EQ(receipts_.size(), 1u);
  EXPECT_EQ(receipts_[0].code(), 0u) << receipts_[0].message();
  const auto report =
      client_->Push({WorkerId(5), Incarnation(1), Sequence(1)}, *payload_, payload_);
  double norm = 0;
  for (const double block : receipts_[0].block_squared_norms()) norm += block;
  EXPECT_EQ(report->squared_norm, norm);
}

TEST_F(PushStreamTest, ChunksComeInAnyOrder) {
  const uint64_t third = payload_->size() / 12 * 4;
  v1::Chunk first = Chunk(0, third);
  v1::Chunk end = Chunk(2 * third, payload_->size() - 2 * third);
  end.set_is_last(false);
  first.set_is_last(true);
  EXPECT_TRUE(Send({end, Chunk(third, third), first}).ok());
  ASSERT_EQ(receipts_.size(), 1u);
  EXPECT_EQ(receipts_[0].code(), 0u) << receipts_[0].message();
  const auto report =
      client_->Push({WorkerId(4), Incarnation(1), Sequence(1)}, *payload_, payload_);
  double norm = 0;
  for (const double block : receipts_[0].block_squared_norms()) norm += block;
  EXPECT_EQ(report->squared_norm, norm);
}

// All bytes are there, but nobody said that the push is to count.
TEST_F(PushStreamTest, APushThatIsNotMarkedAsWholeIsNotSealed) {
  v1::Chunk all = Chunk(0, payload_->size());
  all.set_is_last(false);
  EXPECT_TRUE(Send({all}).ok());
  EXPECT_TRUE(receipts_.empty());
}

TEST_F(PushStreamTest, ChunksThatBreakTheProtocolEndTheStream) {
  v1::Chunk beyond = Chunk(0, 100);
  beyond.mutable_data()->resize(payload_->size() + 1);
  v1::Chunk hidden_last = Chunk(0, 100);
  hidden_last.set_is_last(true);
  v1::Chunk wrong_kind = Chunk(0, 100);
  wrong_kind.set_kind(v1::CHUNK_KIND_PULL_ANSWER);
  v1::Chunk no_kind = Chunk(0, 100);
  no_kind.clear_kind();
  for (const auto& [chunks, words] : std::vector<std::pair<std::vector<v1::Chunk>, std::string>>{
           {{Chunk(100, payload_->size() - 100)}, "last chunk came before all bytes"},
           {{Chunk(0, 100), Chunk(200, payload_->size() - 200)}, "last chunk came before all"},
           {{Chunk(0, 100), Chunk(0, 100)}, "brings bytes again: 100 bytes at 0"},
           {{Chunk(200, 100), Chunk(150, 100)}, "brings bytes again: 100 bytes at 150"},
           {{beyond}, "lies outside of the slice"},
           {{hidden_last}, "last chunk came before all bytes: 100 of"},
           {{wrong_kind}, "chunk of a pull"},
           {{no_kind}, "no kind"}}) {
    const grpc::Status status = Send(chunks);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << words;
    EXPECT_THAT(status.error_message(), HasSubstr(words));
  }
  EXPECT_TRUE(receipts_.empty());
}

TEST_F(PushStreamTest, WrongTotalIsRefusedAndTheStreamGoesOn) {
  v1::Chunk wrong = Chunk(0, 100);
  wrong.set_total_bytes(100);
  v1::Chunk right = Chunk(0, payload_->size());
  right.set_transfer(2);
  EXPECT_TRUE(Send({wrong, right}).ok());
  ASSERT_EQ(receipts_.size(), 2u);
  EXPECT_EQ(receipts_[0].code(), static_cast<uint32_t>(StatusCode::kInvalidArgument));
  EXPECT_THAT(receipts_[0].message(), HasSubstr("size of the slice differs: got 100 bytes"));
  EXPECT_EQ(receipts_[1].code(), 0u);
}

TEST_F(PushStreamTest, PushThatVanishesInTheMiddleCanBeRetried) {
  const store::PushId id{WorkerId(5), Incarnation(1), Sequence(1)};
  for (int round = 0; round < 20; ++round) {
    grpc::ClientContext context;
    const auto stream = stub_->Push(&context);
    ASSERT_TRUE(stream->Write(Chunk(0, 100'000)));
    context.TryCancel();
    (void)stream->Finish();
  }
  const auto report = client_->Push(id, *payload_, payload_);
  ASSERT_TRUE(report.ok()) << report.status();
  shards_.Commit(Version(1), {id});
  std::vector<std::byte> into(payload_->size());
  EXPECT_TRUE(client_->Pull(Version(1), sync::Exactness::kExact, into).ok());
}

TEST_F(PushStreamTest, NewerTransferOfTheSamePushTakesOver) {
  grpc::ClientContext context;
  const auto stream = stub_->Push(&context);
  const uint64_t half = payload_->size() / 2;
  v1::PushReceipt receipt;
  // A refusal on the same stream tells that the first half has been taken.
  v1::Chunk other = Chunk(0, 10);
  other.set_transfer(7);
  other.set_total_bytes(10);
  ASSERT_TRUE(stream->Write(other));
  ASSERT_TRUE(stream->Read(&receipt));
  ASSERT_TRUE(stream->Write(Chunk(0, half)));
  const store::PushId id{WorkerId(5), Incarnation(1), Sequence(1)};
  ASSERT_TRUE(client_->Push(id, *payload_, payload_).ok());
  ASSERT_TRUE(stream->Write(Chunk(half, payload_->size() - half)));
  ASSERT_TRUE(stream->Read(&receipt));
  // Either order of arrival is right: taken over, or answered from what the other one sealed.
  EXPECT_TRUE(receipt.code() == 0 || receipt.code() == static_cast<uint32_t>(StatusCode::kAborted))
      << receipt.message();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(PushStreamTest, PullsAskedTogetherAreAnsweredInOrder) {
  grpc::ClientContext context;
  const auto stream = stub_->Pull(&context);
  for (uint64_t transfer = 1; transfer <= 10; ++transfer) {
    v1::PullRequest request;
    request.set_transfer(transfer);
    request.mutable_generation()->set_start(kGeneration.start);
    request.mutable_generation()->set_counter(kGeneration.counter);
    request.set_exactness(v1::EXACTNESS_EXACT);
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  std::string data;
  uint64_t transfer = 1;
  for (v1::Chunk chunk; stream->Read(&chunk);) {
    EXPECT_EQ(chunk.transfer(), transfer);
    data += chunk.data();
    if (!chunk.is_last()) continue;
    EXPECT_EQ(data, std::string(reinterpret_cast<const char*>(payload_->data()), payload_->size()));
    data.clear();
    ++transfer;
  }
  EXPECT_EQ(transfer, 11u);
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace paceline::ps
