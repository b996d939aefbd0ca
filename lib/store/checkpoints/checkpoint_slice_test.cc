#include "lib/store/checkpoints/checkpoint_slice.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/checkpoints/checkpoint_testing.h"
#include "lib/store/safetensors.h"

namespace paceline::store {
namespace {

using ::testing::HasSubstr;
using testing::SliceUnderTest;
using testing::TemporaryFolder;

TEST(Sha256Test, IsWhatSha256sumPrints) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/f") << "abc";
  const auto digest = DigestFile(folder.path() + "/f");
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(digest->bytes, 3u);
  EXPECT_EQ(digest->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(CheckpointSliceTest, GivesEveryBitBackForAnyCut) {
  const TemporaryFolder folder;
  for (const optim::OptimizerOptions& optimizer :
       {optim::OptimizerOptions(optim::SgdOptions{}),
        optim::OptimizerOptions(optim::SgdOptions{.momentum = 0.9}),
        optim::OptimizerOptions(optim::AdamWOptions{})}) {
    for (const uint32_t shards : {1u, 2u, 3u, 5u}) {
      for (uint32_t rank = 0; rank < shards; ++rank) {
        SliceUnderTest written(rank, shards, optimizer, 7);
        SliceUnderTest read(rank, shards, optimizer);
        const std::string path = folder.path() + "/slice";
        const auto digest = written.Write(path, 12);
        ASSERT_TRUE(digest.ok()) << digest.status();
        EXPECT_EQ(*digest, *DigestFile(path));
        const Status status = read.Read(path, *digest, 12);
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(read.bytes, written.bytes);
        EXPECT_EQ(read.States(), written.States());
        EXPECT_EQ(read.optimizer->optimizer().steps(), 7u);
      }
    }
  }
}

TEST(CheckpointSliceTest, CountsOfLeftOutTensorsComeBackAndWithoutThemAllHaveOne) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/slice";
  for (const uint32_t shards : {1u, 2u}) {
    const uint32_t rank = shards - 1;  // Of two the second has only "b" and the buffers.
    SliceUnderTest written(rank, shards, optim::AdamWOptions{}, 7);
    const FileDigest before = written.Write(path, 12).value();
    EXPECT_EQ(SafetensorsFile::Open(path)->metadata().count("steps_skipped:b"), 0u);
    SliceUnderTest read(rank, shards, optim::AdamWOptions{});
    read.optimizer->Restore(9, std::vector<SkippedSteps>{{1, 5}});
    ASSERT_TRUE(read.Read(path, before, 12).ok());
    EXPECT_EQ(read.optimizer->optimizer().steps(), 7u);
    EXPECT_TRUE(read.optimizer->skipped().empty());

    const std::vector<SkippedSteps> skipped = {{1, 4}};
    written.optimizer->Restore(7, skipped);
    const FileDigest after = written.Write(path, 12).value();
    EXPECT_EQ(SafetensorsFile::Open(path)->metadata().at("steps_skipped:b"), "4");
    ASSERT_TRUE(read.Read(path, after, 12).ok());
    EXPECT_EQ(read.optimizer->optimizer().steps(), 7u);
    EXPECT_EQ(read.optimizer->skipped(), skipped);
    EXPECT_EQ(read.States(), written.States());
  }
}

TEST(CheckpointSliceTest, GivesTheAverageBackBitByBit) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/slice";
  for (const uint32_t shards : {1u, 2u, 3u}) {
    for (uint32_t rank = 0; rank < shards; ++rank) {
      SliceUnderTest written(rank, shards, optim::AdamWOptions{}, 7);
      written.Average(5);
      SliceUnderTest read(rank, shards, optim::AdamWOptions{});
      read.Average();
      const auto digest = written.Write(path, 12);
      ASSERT_TRUE(digest.ok()) << digest.status();
      const Status status = read.Read(path, *digest, 12);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(read.Averages(), written.Averages());
      EXPECT_EQ(read.average->updates(), 5u);
      EXPECT_EQ(read.bytes, written.bytes);
      EXPECT_EQ(read.States(), written.States());
    }
  }
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NE(file->Find("average:b"), nullptr);
  EXPECT_EQ(file->Find("average:mean"), nullptr) << "buffers have none";
}

TEST(CheckpointSliceTest, GivesTheKeptVersionBack) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/slice";
  for (const uint32_t shards : {1u, 2u, 3u}) {
    for (uint32_t rank = 0; rank < shards; ++rank) {
      SliceUnderTest written(rank, shards, optim::AdamWOptions{}, 7);
      written.Average(5);
      written.Keep(9, 0x5a);
      const auto digest = written.Write(path, 12);
      ASSERT_TRUE(digest.ok()) << digest.status();
      SliceUnderTest read(rank, shards, optim::AdamWOptions{});
      read.Average();
      std::vector<std::byte> kept(read.bytes.size());
      read.kept_room = {Version(9), kept};
      const Status status = read.Read(path, *digest, 12);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(std::ranges::equal(kept, written.kept->bytes()));
      EXPECT_EQ(read.bytes, written.bytes);
      EXPECT_EQ(read.Averages(), written.Averages());
    }
  }
}

TEST(CheckpointSliceTest, AKeptVersionIsLeftOutUnlessItIsAskedForByItsNumber) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/slice";
  SliceUnderTest written(0, 2, optim::SgdOptions{}, 7);
  written.Keep(9, 1);
  FileDigest digest = written.Write(path, 12).value();
  SliceUnderTest read(0, 2, optim::SgdOptions{});
  EXPECT_TRUE(read.Read(path, digest, 12).ok());
  EXPECT_EQ(read.bytes, written.bytes);
  std::vector<std::byte> kept(read.bytes.size());
  read.kept_room = {Version(8), kept};
  EXPECT_THAT(Message(read.Read(path, digest, 12)),
              HasSubstr("the version that it keeps is 9, want 8"));
  written.kept.reset();
  digest = written.Write(path, 12).value();
  EXPECT_THAT(Message(read.Read(path, digest, 12)),
              HasSubstr("the version that it keeps is none, want 8"));
}

// Whoever reads says which of the two was so.
TEST(CheckpointSliceTest, AnAverageMayBeMissingOrLeftOut) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/slice";
  for (const bool had_average : {false, true}) {
    SliceUnderTest written(0, 2, optim::SgdOptions{.momentum = 0.9}, 7);
    if (had_average) written.Average(5);
    const FileDigest digest = written.Write(path, 12).value();
    SliceUnderTest read(0, 2, optim::SgdOptions{.momentum = 0.9});
    if (!had_average) read.Average();
    const auto restored = ReadCheckpointSlice(path, digest, read.layout, read.slice, Version(12),
                                              read.bytes, *read.optimizer, read.average.get());
    ASSERT_TRUE(restored.ok()) << restored.status();
    EXPECT_EQ(restored->had_average, had_average);
    EXPECT_EQ(read.bytes, written.bytes);
    EXPECT_EQ(read.States(), written.States());
    if (had_average) continue;
    // It begins with the parameters that were restored.
    const auto made = [&] {
      return std::make_shared<Published>(Region::Private(read.slice.size_bytes()));
    };
    const auto first = made();
    std::ranges::copy(read.bytes, first->bytes().begin());
    read.average->Start(*first);
    EXPECT_EQ(read.average->updates(), 0u);
    const auto parameters = View<float>(std::span<const std::byte>(read.bytes), 0,
                                        read.average->values().size() * sizeof(float));
    EXPECT_TRUE(std::ranges::equal(read.average->values(), parameters));
  }
}

TEST(CheckpointSliceTest, NamesTensorsAndRanges) {
  const TemporaryFolder folder;
  SliceUnderTest first(0, 2, optim::SgdOptions{.momentum = 0.9}, 1);
  ASSERT_TRUE(first.Write(folder.path() + "/s0", 3).ok());
  const auto file = SafetensorsFile::Open(folder.path() + "/s0");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_NE(file->Find("parameter:a"), nullptr);
  EXPECT_EQ(file->Find("parameter:a")->shape, (std::vector<int64_t>{100, 100}));
  ASSERT_NE(file->Find("momentum_buffer:b"), nullptr);
  const int64_t held = file->Find("parameter:b")->shape[0];
  EXPECT_EQ(file->metadata().at("range:b"), fmt::format("0 {}", held));
  EXPECT_EQ(file->metadata().count("range:a"), 0u);
  EXPECT_EQ(file->Find("buffer:mean"), nullptr) << "the other slice's";
}

TEST(CheckpointSliceTest, RefusesWhatIsNotTheFileThatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/slice";
  SliceUnderTest slice(0, 1, optim::SgdOptions{.momentum = 0.9}, 1);
  const FileDigest digest = slice.Write(path, 3).value();

  EXPECT_EQ(slice.Read(folder.path() + "/none", digest, 3).code(), StatusCode::kDataLoss);
  SliceUnderTest other_version(0, 1, optim::SgdOptions{.momentum = 0.9});
  EXPECT_THAT(Message(other_version.Read(path, digest, 4)), HasSubstr("version is 3, want 4"));
  SliceUnderTest other_cut(0, 2, optim::SgdOptions{.momentum = 0.9});
  EXPECT_THAT(Message(other_cut.Read(path, digest, 3)),
              HasSubstr("tensor b is there in the range"));
  SliceUnderTest plain(0, 1, optim::SgdOptions{});
  EXPECT_THAT(Message(plain.Read(path, digest, 3)), HasSubstr("another optimizer's state"));
  SliceUnderTest adam(0, 1, optim::AdamWOptions{});
  EXPECT_THAT(Message(adam.Read(path, digest, 3)), HasSubstr("exp_avg:a is missing"));

  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(5000);
  file.put('!');
  file.close();
  EXPECT_THAT(Message(slice.Read(path, digest, 3)), HasSubstr("is damaged"));
  std::filesystem::resize_file(path, 5000);
  EXPECT_EQ(slice.Read(path, digest, 3).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace paceline::store
