#include "lib/files/room.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lib/files/disk.h"

namespace paceline::files {
namespace {

using ::testing::HasSubstr;

bool CanWrite(const std::string& path, size_t bytes) {
  std::ofstream file(path);
  file << std::string(bytes, 'x') << std::flush;
  return file.good();
}

TEST(Room, IsTakenFromOthersUntilItIsReleased) {
  std::string folder = ::testing::TempDir() + "room-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs the right to mount";
  {
    StatusOr<Room> room = Room::Reserve(folder, 160 << 10);
    ASSERT_TRUE(room.ok()) << Message(room.status());
    EXPECT_TRUE(room->is_held());
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << "it has no name";
    EXPECT_FALSE(CanWrite(folder + "/log", 128 << 10));
    std::filesystem::remove(folder + "/log");
    const Status more = Room::Reserve(folder, 160 << 10).status();
    EXPECT_EQ(more.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(Message(more),
                HasSubstr("the disk of " + folder + " has 98304 bytes free, want 163840"));
    room->Release();
    EXPECT_TRUE(CanWrite(folder + "/model", 160 << 10));
  }
  std::filesystem::remove(folder + "/model");
  { const Room gone = Room::Reserve(folder, 200 << 10).value(); }
  EXPECT_TRUE(CanWrite(folder + "/model", 200 << 10)) << "its owner's end releases it";
  umount(folder.c_str());
  std::filesystem::remove(folder);
}

TEST(Room, OfAFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(Room::Reserve("/no/such/folder", 1).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace paceline::files
