#include "lib/rpc/bulk/bulk_chunk.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "paceline/v1/chunk.pb.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/rpc/bulk/message_bytes.h"
#include "lib/store/kernels.h"

namespace paceline::rpc {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> Bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

ChunkHeader FullHeader() {
  return {.kind = ChunkKind::kPullAnswer,
          .transfer = 300,
          .generation = {1, 2},
          .worker = WorkerId(3),
          .incarnation = Incarnation(4),
          .sequence = Sequence(1ULL << 63),
          .version = Version(6),
          .offset_bytes = 70,
          .total_bytes = 1ULL << 40,
          .is_last = true,
          .is_superseded = true,
          .code = StatusCode::kUnavailable,
          .message = "not yet"};
}

v1::Chunk FullMessage(const std::string& data) {
  v1::Chunk chunk;
  chunk.set_kind(v1::CHUNK_KIND_PULL_ANSWER);
  chunk.set_transfer(300);
  chunk.set_generation_start(1);
  chunk.set_generation_counter(2);
  chunk.set_worker(3);
  chunk.set_incarnation(4);
  chunk.set_sequence(1ULL << 63);
  chunk.set_version(6);
  chunk.set_offset_bytes(70);
  chunk.set_total_bytes(1ULL << 40);
  chunk.set_is_last(true);
  chunk.set_is_superseded(true);
  chunk.set_code(14);
  chunk.set_message("not yet");
  chunk.set_data(data);
  return chunk;
}

std::string Text(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// The same bytes, cut into slices of `piece` bytes, as a network might deliver them.
grpc::ByteBuffer Cut(const std::string& text, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < text.size(); at += piece) slices.emplace_back(text.substr(at, piece));
  return {slices.data(), slices.size()};
}

TEST(BulkChunkTest, GeneratedClassWritesTheSameBytes) {
  for (const size_t size : {0, 1, 127, 128, 100'000}) {
    const auto data = Bytes(size);
    const std::string text(reinterpret_cast<const char*>(data.data()), size);
    EXPECT_EQ(Text(EncodeChunk(FullHeader(), data, nullptr)), FullMessage(text).SerializeAsString())
        << size;
  }
}

TEST(BulkChunkTest, AnAverageIsMarked) {
  for (const bool is_average : {true, false}) {
    ChunkHeader header = FullHeader();
    header.is_average = is_average;
    const grpc::ByteBuffer encoded = EncodeChunk(header, Bytes(10), nullptr);
    v1::Chunk chunk;
    ASSERT_TRUE(ParseByteBuffer(encoded, chunk).ok());
    EXPECT_EQ(chunk.is_average(), is_average);
    EXPECT_EQ(ReceivedChunk::Decode(encoded)->header(), header);
  }
}

TEST(BulkChunkTest, GeneratedClassReadsIt) {
  const auto data = Bytes(1000);
  v1::Chunk chunk;
  ASSERT_TRUE(ParseByteBuffer(EncodeChunk(FullHeader(), data, nullptr), chunk).ok());
  EXPECT_EQ(
      chunk.SerializeAsString(),
      FullMessage({reinterpret_cast<const char*>(data.data()), data.size()}).SerializeAsString());
}

TEST(BulkChunkTest, ReadsGeneratedBytesHoweverTheyAreCut) {
  const auto data = Bytes(1000);
  const std::string text =
      FullMessage({reinterpret_cast<const char*>(data.data()), data.size()}).SerializeAsString();
  for (const size_t piece : {1, 2, 3, 7, 64, 999, 5000}) {
    const auto chunk = ReceivedChunk::Decode(Cut(text, piece));
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_EQ(chunk->header(), FullHeader());
    std::vector<std::byte> slice(70 + 1000 + 5);
    ASSERT_TRUE(chunk->CopyInto(slice).ok());
    EXPECT_TRUE(std::equal(data.begin(), data.end(), slice.begin() + 70));
    EXPECT_EQ(slice[69], std::byte(0));
    EXPECT_EQ(slice[1070], std::byte(0));
  }
}

TEST(BulkChunkTest, DefaultsNeedNoBytes) {
  const auto chunk = ReceivedChunk::Decode(EncodeChunk({.kind = ChunkKind::kFill}, {}, nullptr));
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(chunk->header(), ChunkHeader{.kind = ChunkKind::kFill});
  EXPECT_EQ(chunk->size_bytes(), 0u);
  EXPECT_TRUE(chunk->CopyInto({}).ok());
}

TEST(BulkChunkTest, OwnerLivesUntilTheBufferDies) {
  auto memory = std::make_shared<std::vector<std::byte>>(Bytes(100'000));
  const std::weak_ptr<const void> watch = memory;
  {
    const std::span<const std::byte> data = *memory;
    const grpc::ByteBuffer buffer = EncodeChunk({}, data, std::move(memory));
    EXPECT_FALSE(watch.expired());
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(buffer.Dump(&slices).ok());
    EXPECT_EQ(slices[1].begin(), reinterpret_cast<const uint8_t*>(data.data())) << "data is copied";
  }
  EXPECT_TRUE(watch.expired());
}

TEST(BulkChunkTest, UnknownFieldsAreSkipped) {
  std::string text = Text(EncodeChunk({.transfer = 5}, {}, nullptr));
  text += std::string("\x82\x01\x02hi", 5);            // Field 16, length-delimited.
  text += std::string("\x8d\x01\x01\x02\x03\x04", 6);  // Field 17, 32 bits.
  text += std::string("\x91\x01\x01\x02\x03\x04\x05\x06\x07\x08", 10);  // Field 18, 64 bits.
  const auto chunk = ReceivedChunk::Decode(Cut(text, 3));
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  EXPECT_EQ(chunk->header().transfer, 5u);
}

TEST(BulkChunkTest, RefusesWhatIsMalformed) {
  const std::string good = FullMessage("data").SerializeAsString();
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "no kind"},
           {std::string("\x08\x00", 2), "unknown kind of chunk: got 0"},
           {std::string("\x08\x09", 2), "unknown kind of chunk: got 9"},
           {std::string("\x08", 1), "ends within a number"},
           {std::string("\x08\x01\x68\x11", 4), "unknown status code in chunk: got 17"},
           {std::string("\x08\x01\x80\x01\x02", 5), "unknown type of numbers: got 2"},
           {std::string("\x00\x01", 2), "tag 0"},
           {std::string("\x0b\x01", 2), "wire type 3"},
           {std::string(11, '\xff'), "more than ten bytes"},
           {good.substr(0, good.size() - 1), "ends too early"},
           {std::string("\x08\x01\x7a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13),
            "ends too early"}}) {
    const auto chunk = ReceivedChunk::Decode(Cut(text, 4));
    EXPECT_EQ(chunk.status().code(), StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(Message(chunk.status()), HasSubstr(words));
  }
}

TEST(BulkChunkTest, NeverWritesOutsideOfTheSlice) {
  const auto data = Bytes(10);
  for (const uint64_t offset :
       {uint64_t{1}, uint64_t{10}, uint64_t{11}, ~uint64_t{0}, ~uint64_t{0} - 9}) {
    const auto chunk = ReceivedChunk::Decode(EncodeChunk({.offset_bytes = offset}, data, nullptr));
    std::vector<std::byte> slice(10);
    EXPECT_EQ(chunk->CopyInto(slice).code(), StatusCode::kInvalidArgument) << offset;
    EXPECT_EQ(slice, std::vector<std::byte>(10));
  }
}

TEST(BulkChunkTest, RandomBytesAreReadOrRefusedAndNeverMore) {
  std::mt19937_64 random(1);
  const std::string good = FullMessage(std::string(50, 'x')).SerializeAsString();
  std::vector<std::byte> slice(200);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    text.resize(random() % (text.size() + 1));
    const auto chunk = ReceivedChunk::Decode(Cut(text, 1 + random() % 40));
    if (chunk.ok()) (void)chunk->CopyInto(slice);
  }
}

// Numbers cut by gRPC's slices, which begin at odd places.
TEST(BulkChunkTest, RoundedNumbersAreWidenedToTheirPlace) {
  std::vector<uint16_t> numbers(5000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(3 * i);
  const std::string text = Text(EncodeChunk({.offset_bytes = 8, .type = WireType::kBfloat16},
                                            std::as_bytes(std::span(numbers)), nullptr));
  std::vector<float> want(numbers.size());
  store::WidenBfloat16(numbers, want);
  for (const size_t cut : {1u, 2u, 3u, 1000u, 4095u, 4097u, 100'000u}) {
    const auto chunk = ReceivedChunk::Decode(Cut(text, cut));
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_EQ(chunk->header().type, WireType::kBfloat16);
    EXPECT_EQ(chunk->data_bytes(), 10'000u);
    EXPECT_EQ(chunk->size_bytes(), 20'000u);
    std::vector<float> slice(numbers.size() + 3, -1.0f);
    ASSERT_TRUE(chunk->CopyInto(std::as_writable_bytes(std::span(slice)), 20'008).ok());
    EXPECT_EQ(slice[1], -1.0f);
    EXPECT_EQ(slice.back(), -1.0f);
    EXPECT_EQ(std::memcmp(&slice[2], want.data(), 20'000), 0) << cut;
  }
}

TEST(BulkChunkTest, RoundedNumbersAreTakenWhereTheyMayBeAlone) {
  const auto refused = [](uint64_t offset, size_t size, uint64_t rounded_end) {
    const auto data = Bytes(size);
    const auto chunk = ReceivedChunk::Decode(
        EncodeChunk({.offset_bytes = offset, .type = WireType::kBfloat16}, data, nullptr));
    std::vector<std::byte> slice(100);
    const Status status = chunk->CopyInto(slice, rounded_end);
    EXPECT_EQ(status.ok(), slice != std::vector<std::byte>(100));
    return Message(status);
  };
  EXPECT_EQ(refused(4, 8, 20), "");
  EXPECT_THAT(refused(4, 8, 19), HasSubstr("BFloat16 where Float32 is wanted: 16 bytes at 4"));
  EXPECT_THAT(refused(4, 8, 0), HasSubstr("BFloat16 where Float32 is wanted"));
  EXPECT_THAT(refused(4, 7, 40), HasSubstr("BFloat16 where Float32 is wanted"));
  EXPECT_THAT(refused(2, 8, 40), HasSubstr("BFloat16 where Float32 is wanted"));
  EXPECT_THAT(refused(4, 50, 200), HasSubstr("outside of the slice: 100 bytes at 4"));
}

TEST(ChunkSequenceTest, TakesOnlyTheNextChunk) {
  const auto chunk = [](uint64_t offset, size_t size, uint64_t total, bool is_last) {
    const auto data = Bytes(size);
    return ReceivedChunk::Decode(
               EncodeChunk({.offset_bytes = offset, .total_bytes = total, .is_last = is_last}, data,
                           nullptr))
        .value();
  };
  ChunkSequence sequence(10);
  EXPECT_THAT(Message(sequence.Add(chunk(0, 4, 11, false))),
              HasSubstr("size of the slice differs: got 11 bytes, want 10"));
  EXPECT_THAT(Message(sequence.Add(chunk(1, 4, 10, false))), HasSubstr("got offset 1, want 0"));
  EXPECT_TRUE(sequence.Add(chunk(0, 4, 10, false)).ok());
  EXPECT_FALSE(sequence.Add(chunk(0, 4, 10, false)).ok()) << "doubled";
  EXPECT_FALSE(sequence.Add(chunk(4, 7, 10, true)).ok()) << "too long";
  EXPECT_FALSE(sequence.Add(chunk(4, 5, 10, true)).ok()) << "last too early";
  EXPECT_FALSE(sequence.Add(chunk(4, 6, 10, false)).ok()) << "not marked last";
  EXPECT_FALSE(sequence.is_complete());
  EXPECT_TRUE(sequence.Add(chunk(4, 6, 10, true)).ok());
  EXPECT_TRUE(sequence.is_complete());
  EXPECT_FALSE(sequence.Add(chunk(10, 0, 10, true)).ok()) << "after the last";
}

TEST(ChunkSequenceTest, EmptySliceIsOneEmptyChunk) {
  ChunkSequence sequence(0);
  EXPECT_FALSE(sequence.is_complete());
  EXPECT_TRUE(
      sequence.Add(*ReceivedChunk::Decode(EncodeChunk({.is_last = true}, {}, nullptr))).ok());
  EXPECT_TRUE(sequence.is_complete());
}

}  // namespace
}  // namespace paceline::rpc
