#include "lib/files/mapped_file.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::files {
namespace {

std::string TextOf(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                fmt::format("paceline-mapped-{}", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  const std::filesystem::path folder_;
};

TEST_F(MappedFileTest, HoldsTheBytesAlsoOfAFileThatIsReplaced) {
  const std::string path = Write("a", "one");
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::rename(Write("b", "two and more"), path);
  EXPECT_EQ(TextOf(**file), "one");
}

TEST_F(MappedFileTest, OfAnEmptyFileHasNone) {
  const auto file = MappedFile::Open(Write("a", ""));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST_F(MappedFileTest, SaysWhatCannotBeMapped) {
  const auto missing = MappedFile::Open(folder_ / "none");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound) << missing.status();
  EXPECT_NE(Message(missing.status()).find("none"), std::string::npos);
  const auto folder = MappedFile::Open(folder_);
  EXPECT_EQ(folder.status().code(), StatusCode::kInvalidArgument) << folder.status();
}

}  // namespace
}  // namespace paceline::files
