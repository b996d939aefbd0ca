#include "lib/files/folder_lock.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::files {
namespace {

using ::testing::HasSubstr;

class FolderLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "lock-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ + "/.lock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  std::string file_;
};

// In a folder where others may write, they could name a file of ours there.
TEST_F(FolderLockTest, FollowsNoLink) {
  const std::string other = folder_ + "/other";
  std::ofstream(other) << "precious";
  std::filesystem::create_symlink(other, file_);
  EXPECT_FALSE(FolderLock::Take(file_, "run one").ok());
  std::string text;
  std::getline(std::ifstream(other), text);
  EXPECT_EQ(text, "precious");
}

TEST_F(FolderLockTest, ASecondTakerIsToldWhoHasIt) {
  auto first = FolderLock::Take(file_, "run one");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->is_held());
  const auto second = FolderLock::Take(file_, "run two");
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(second.status()), "run one");
  { const FolderLock gone = *std::move(first); }
  EXPECT_TRUE(FolderLock::Take(file_, "run three").ok());
}

TEST_F(FolderLockTest, AShorterNameReplacesALongerOne) {
  { ASSERT_TRUE(FolderLock::Take(file_, "a run with a long name").ok()); }
  const auto held = FolderLock::Take(file_, "two");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(Message(FolderLock::Take(file_, "three").status()), "two");
}

TEST_F(FolderLockTest, ItIsHeldAsLongAsAnyProcessHasIt) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  auto lock = FolderLock::Take(file_, "parent");
  ASSERT_TRUE(lock.ok());
  const pid_t child = fork();
  if (child == 0) {  // Has the descriptor until the test lets it go.
    close(gate[1]);
    char byte;
    _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(gate[0]);
  { const FolderLock gone = *std::move(lock); }
  EXPECT_EQ(Message(FolderLock::Take(file_, "other").status()), "parent");
  close(gate[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(FolderLock::Take(file_, "other").ok());
}

TEST_F(FolderLockTest, WhoseItIsCanBeAskedWithoutTakingIt) {
  EXPECT_EQ(FolderLock::OwnerOf(file_), "");
  EXPECT_FALSE(std::filesystem::exists(file_));
  {
    const auto lock = FolderLock::Take(file_, "its owner");
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(FolderLock::OwnerOf(file_), "its owner");
  }
  EXPECT_EQ(FolderLock::OwnerOf(file_), "");
  EXPECT_TRUE(FolderLock::Take(file_, "next").ok());
}

TEST_F(FolderLockTest, WhereThereIsNoFolderThatIsSaid) {
  const auto lock = FolderLock::Take(folder_ + "/none/.lock", "x");
  EXPECT_EQ(lock.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(lock.status()), HasSubstr(folder_ + "/none/.lock"));
}

TEST_F(FolderLockTest, ItsFileIsRemovedByWhoHasItAlone) {
  auto lock = FolderLock::Take(file_, "first");
  ASSERT_TRUE(lock.ok());
  lock->RemoveFile();
  EXPECT_FALSE(std::filesystem::exists(file_));
  const auto next = FolderLock::Take(file_, "next");
  ASSERT_TRUE(next.ok());
  lock->RemoveFile();  // It is another's now.
  EXPECT_TRUE(std::filesystem::exists(file_));
  EXPECT_EQ(Message(FolderLock::Take(file_, "x").status()), "next");
}

TEST_F(FolderLockTest, ItMovesWithItsFolder) {
  std::filesystem::create_directory(folder_ + "/old");
  const auto lock = FolderLock::Take(folder_ + "/old/.lock", "mover");
  ASSERT_TRUE(lock.ok());
  std::filesystem::rename(folder_ + "/old", folder_ + "/new");
  EXPECT_EQ(Message(FolderLock::Take(folder_ + "/new/.lock", "x").status()), "mover");
}

}  // namespace
}  // namespace paceline::files
