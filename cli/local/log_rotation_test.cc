#include "cli/local/log_rotation.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

namespace paceline::local {
namespace {

namespace fs = std::filesystem;

class LogRotationTest : public ::testing::Test {
 protected:
  LogRotationTest() : folder_(fs::temp_directory_path() / fmt::format("rotation-{}", getpid())) {
    fs::create_directory(folder_);
  }
  ~LogRotationTest() override { fs::remove_all(folder_); }

  std::string Read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  std::string Log() const { return folder_ / "w.log"; }

  const fs::path folder_;
};

TEST_F(LogRotationTest, TheNewestStaysAndTheWriterDoesNotNotice) {
  const int writer = open(Log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_GE(writer, 0);
  std::string all, kept;
  for (int i = 0; i < 300; ++i) {
    const std::string line = fmt::format("line {}\n", i);
    ASSERT_EQ(write(writer, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    all += line;
    RotateLog(Log(), 1000);
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
    ASSERT_LE(bytes, 1100u) << "after " << line;
  }
  close(writer);
  const std::string note = "paceline: older output is in w.log.1\n";
  std::string newest = Read("w.log"), older = Read("w.log.1");
  ASSERT_TRUE(newest.starts_with(note));
  ASSERT_TRUE(older.starts_with(note));
  newest.erase(0, note.size());
  older.erase(0, note.size());
  EXPECT_TRUE(all.ends_with(older + newest));
}

TEST_F(LogRotationTest, ASmallFileAndWhatIsNoFileStay) {
  std::ofstream(Log()) << std::string(499, 'x');
  EXPECT_FALSE(RotateLog(Log(), 1000));
  EXPECT_FALSE(RotateLog(folder_, 1));
  EXPECT_FALSE(RotateLog("/dev/null", 1));
  EXPECT_FALSE(RotateLog(folder_ / "none", 1));
  EXPECT_FALSE(fs::exists(folder_ / "w.log.1"));
}

TEST_F(LogRotationTest, OnAFullDiskTheBoundHolds) {
  if (mount("none", folder_.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs the right to mount";
  std::ofstream(Log()) << std::string(40'000, 'x');
  EXPECT_TRUE(RotateLog(Log(), 60'000));
  EXPECT_EQ(Read("w.log"), "paceline: older output is gone: there was no room for it\n");
  EXPECT_FALSE(fs::exists(folder_ / "w.log.1"));
  umount(folder_.c_str());
}

}  // namespace
}  // namespace paceline::local
