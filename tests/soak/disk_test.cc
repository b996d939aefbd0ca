#include "tests/soak/disk.h"

#include <filesystem>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "tests/integration/live_run.h"

namespace paceline::soak {
namespace {

bool CanWrite(const std::string& path) {
  std::ofstream file(path);
  file << std::string(100000, 'x');
  return file.flush().good();
}

TEST(Disk, IsFullReadOnlyAndWellAgain) {
  if (const Status own = TakeOwnMounts(); !own.ok())
    GTEST_SKIP() << "needs a mount table of its own: " << Message(own);
  const integration::TestFolder folder;
  {
    StatusOr<Disk> disk = Disk::Mount(folder.path(), 1 << 20);
    ASSERT_TRUE(disk.ok()) << disk.status();
    const std::string path = folder.path() + "/file";
    EXPECT_TRUE(CanWrite(path));
    ASSERT_TRUE(disk->Fill().ok());
    EXPECT_FALSE(CanWrite(folder.path() + "/other"));
    ASSERT_TRUE(disk->Empty().ok());
    EXPECT_TRUE(CanWrite(folder.path() + "/other"));
    {
      const std::ofstream open(path);
      EXPECT_EQ(disk->MakeReadOnly().code(), StatusCode::kUnavailable) << "a file is being written";
    }
    ASSERT_TRUE(disk->MakeReadOnly().ok());
    EXPECT_FALSE(CanWrite(path));
    ASSERT_TRUE(disk->MakeWritable().ok());
    EXPECT_TRUE(CanWrite(path));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/file")) << "it is not mounted any more";
}

}  // namespace
}  // namespace paceline::soak
