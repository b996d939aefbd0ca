#include "cli/commands/fetch/download.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/store/sha256.h"

namespace paceline::commands {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Content(size_t bytes) {
  std::string content(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(i * 7 + i / 251);
  return content;
}

store::FileDigest DigestOf(const std::string& content) {
  store::Sha256 sum;
  sum.Add(std::as_bytes(std::span(content)));
  return {content.size(), sum.Finish()};
}

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest()
      : folder_(::testing::TempDir() + "download_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.piece_bytes_min = 100;
    options_.piece_bytes_max = 1000;
    options_.backoff_min = options_.backoff_max = Seconds(0.001);
  }
  ~DownloadTest() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ + "/model.safetensors"; }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    return names;
  }
  static std::string Text(const std::string& file) {
    std::stringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }
  PieceReader Giving(const std::string& content) {
    return [this, content](uint64_t from, uint64_t bytes, Duration) -> StatusOr<std::string> {
      asked_.emplace_back(from, bytes);
      return content.substr(from, bytes);
    };
  }

  const std::string folder_;
  DownloadOptions options_;
  std::vector<std::pair<uint64_t, uint64_t>> asked_;
};

TEST_F(DownloadTest, IsThereUnderItsNameOnceItIsWholeAndRight) {
  const std::string content = Content(5555);
  auto file = PartialFile::Open(path(), DigestOf(content));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(Download(*file, Giving(content), options_).ok());
  EXPECT_FALSE(fs::exists(path()));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Text(path()), content);
  EXPECT_THAT(Files(), ::testing::ElementsAre("model.safetensors"));
}

// In a folder where others may write, a name can be theirs before it is ours.
TEST_F(DownloadTest, WritesIntoNoFileButItsOwn) {
  const std::string content = Content(300);
  const store::FileDigest digest = DigestOf(content);
  const std::string partial = path() + "." + digest.sha256.substr(0, 12) + ".partial";
  const std::string other = folder_ + "/other";
  std::ofstream(other) << "precious";

  fs::create_symlink(other, partial);
  EXPECT_THAT(Message(PartialFile::Open(path(), digest).status()), HasSubstr(partial));
  fs::remove(partial);
  fs::create_symlink(folder_ + "/nowhere", partial);  // Nor is one made at its end.
  EXPECT_FALSE(PartialFile::Open(path(), digest).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/nowhere"));
  fs::remove(partial);
  fs::create_hard_link(other, partial);
  EXPECT_THAT(Message(PartialFile::Open(path(), digest).status()), HasSubstr("remove it"));
  fs::remove(partial);
  ASSERT_EQ(mkfifo(partial.c_str(), 0600), 0);
  EXPECT_THAT(Message(PartialFile::Open(path(), digest).status()), HasSubstr("remove it"));
  fs::remove(partial);
  EXPECT_EQ(Text(other), "precious");

  // What takes its place while it is fetched is not given the model's name.
  auto file = PartialFile::Open(path(), digest);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(Download(*file, Giving(content), options_).ok());
  fs::rename(partial, folder_ + "/moved");
  fs::create_symlink(folder_ + "/moved", partial);
  EXPECT_FALSE(file->Commit().ok());
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(DownloadTest, WhatWasCutOffGoesOnWhereItWas) {
  const std::string content = Content(5000);
  {
    auto file = PartialFile::Open(path(), DigestOf(content)).value();
    const auto breaks = [&](uint64_t from, uint64_t bytes, Duration) -> StatusOr<std::string> {
      if (from >= 1000) return PermissionDenied("no longer yours");
      return content.substr(from, bytes);
    };
    EXPECT_EQ(Download(file, breaks, options_).code(), StatusCode::kPermissionDenied);
    EXPECT_GE(file.bytes(), 1000u);
  }
  EXPECT_FALSE(fs::exists(path()));
  auto file = PartialFile::Open(path(), DigestOf(content)).value();
  const uint64_t there = file.bytes();
  ASSERT_TRUE(Download(file, Giving(content), options_).ok());
  EXPECT_EQ(asked_.front().first, there);
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(Text(path()), content);
}

TEST_F(DownloadTest, WhatIsNotTheModelIsThrownAway) {
  std::string content = Content(3000);
  const store::FileDigest expected = DigestOf(content);
  content[1234] ^= 1;
  auto file = PartialFile::Open(path(), expected).value();
  ASSERT_TRUE(Download(file, Giving(content), options_).ok());
  const Status status = file.Commit();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr(expected.sha256));
  EXPECT_THAT(Files(), ::testing::IsEmpty());
}

TEST_F(DownloadTest, BreaksAndShortAnswersAreTriedAgainInSmallerPieces) {
  const std::string content = Content(4000);
  auto file = PartialFile::Open(path(), DigestOf(content)).value();
  int calls = 0;
  const auto flaky = [&](uint64_t from, uint64_t bytes, Duration) -> StatusOr<std::string> {
    asked_.emplace_back(from, bytes);
    switch (++calls % 4) {
      case 1:
        return DeadlineExceeded("too slow");
      case 2:
        return Unavailable("connection reset");
      case 3:
        return content.substr(from, bytes / 2);
      default:
        return content.substr(from, bytes);
    }
  };
  ASSERT_TRUE(Download(file, flaky, options_).ok());
  EXPECT_TRUE(file.Commit().ok());
  for (const auto& [from, bytes] : asked_) EXPECT_LE(bytes, 1000u);
  EXPECT_EQ(asked_[3].second, 100u);  // After three that did not come.
}

TEST_F(DownloadTest, WithoutAByteForTooLongItIsGivenUp) {
  const std::string content = Content(1000);
  auto file = PartialFile::Open(path(), DigestOf(content)).value();
  options_.patience = Seconds(0.02);
  const auto silent = [&](uint64_t, uint64_t, Duration) -> StatusOr<std::string> {
    return Unavailable("nobody answers");
  };
  EXPECT_EQ(Message(Download(file, silent, options_)), "nobody answers");
}

TEST_F(DownloadTest, TwoDoNotWriteIntoOneAnother) {
  const std::string content = Content(1000);
  auto file = PartialFile::Open(path(), DigestOf(content)).value();
  EXPECT_EQ(PartialFile::Open(path(), DigestOf(content)).status().code(), StatusCode::kAborted);
  EXPECT_EQ(PartialFile::Open(folder_ + "/nowhere/file", DigestOf(content)).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace paceline::commands
