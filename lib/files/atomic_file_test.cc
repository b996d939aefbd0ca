// How files are written, on a disk that fails at each call in turn and forgets what was not
// flushed.
#include "lib/files/atomic_file.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/files/testing/walk_faults.h"

namespace paceline::files {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::FaultyDisk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::vector<int> kErrors = {ENOSPC, EROFS, EIO};

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "files-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Of an empty folder.
  std::unique_ptr<FaultyDisk> Fresh() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    return std::make_unique<FaultyDisk>(folder_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    return names;
  }

  std::string folder_;
};

TEST_F(AtomicFileTest, WhatWasCommittedOutlivesACrash) {
  const auto disk = Fresh();
  ASSERT_TRUE(WriteFile(Path("a"), "old", *disk).ok());
  ASSERT_TRUE(WriteFile(Path("a"), "new", *disk).ok());
  ASSERT_TRUE(MakeFolders(Path("b/c"), *disk).ok());
  ASSERT_TRUE(WriteFile(Path("b/c/d"), "deep", *disk).ok());
  disk->Crash();
  EXPECT_EQ(Text("a"), "new");
  EXPECT_EQ(Text("b/c/d"), "deep");
}

TEST_F(AtomicFileTest, WhatWasNotCommittedIsAsItWas) {
  const auto disk = Fresh();
  ASSERT_TRUE(WriteFile(Path("a"), "old", *disk).ok());
  {
    auto file = AtomicFile::Create(Path("a"), *disk);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Write(std::as_bytes(std::span("new"))).ok());
    EXPECT_EQ(Names().size(), 2u);
  }
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_EQ(Text("a"), "old");
}

// The machine may stop at any call: there is the old file or the new one, whole.
TEST_F(AtomicFileTest, ACrashAtAnyCallLeavesOldOrNewWhole) {
  testing::WalkFaults(
      {EIO},
      [&] {
        auto disk = Fresh();
        EXPECT_TRUE(WriteFile(Path("a"), "old", *disk).ok());
        return disk;
      },
      [&](FaultyDisk& disk) {
        const Status status = WriteFile(Path("a"), "new", disk);
        disk.Crash();
        return status;
      },
      [&](int, uint64_t call, const Status& status) {
        // Only the last word, of a folder that is flushed already, may be a complaint about
        // nothing.
        EXPECT_TRUE(Text("a") == "new" || (Text("a") == "old" && !status.ok())) << "call " << call;
        EXPECT_THAT(Names(), ElementsAre("a")) << "call " << call;
      });
}

TEST_F(AtomicFileTest, EveryFaultIsToldAndLeavesNothingBehind) {
  testing::WalkFaults(
      kErrors, [&] { return Fresh(); },
      [&](FaultyDisk& disk) { return WriteFile(Path("a"), "new", disk); },
      [&](int error_number, uint64_t call, const Status& status) {
        // Only a complaint of what is flushed and renamed already may be left out.
        if (status.ok()) {
          EXPECT_EQ(Text("a"), "new") << "call " << call;
          return;
        }
        EXPECT_THAT(Message(status), HasSubstr(std::generic_category().message(error_number)));
        EXPECT_THAT(Message(status), HasSubstr(folder_));
        if (Names().empty()) return;
        EXPECT_THAT(Names(), ElementsAre("a")) << "the folder's flush failed";
      });
}

TEST_F(AtomicFileTest, FoldersMadeAndRemovedOnAFaultyDisk) {
  testing::WalkFaults(
      kErrors, [&] { return Fresh(); },
      [&](FaultyDisk& disk) { return MakeFolders(Path("b/c"), disk); },
      [&](int, uint64_t call, const Status& status) { EXPECT_FALSE(status.ok()) << call; });
  const auto disk = Fresh();
  ASSERT_TRUE(MakeFolders(Path("b/c"), *disk).ok());
  ASSERT_TRUE(WriteFile(Path("b/c/d"), "x", *disk).ok());
  ASSERT_TRUE(RemoveTree(Path("b"), *disk).ok());
  ASSERT_TRUE(RemoveTree(Path("b"), *disk).ok()) << "there is none";
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(AtomicFileTest, LeftoversOfTheDeadGoAndNothingElse) {
  for (const char* name : {"model.1.1.tmp", "model.77.12.tmp", "model.0123456789abcdef.tmp"})
    std::ofstream(Path(name)) << "half";
  const std::vector<std::string> others = {"model.backup.tmp", "model.1.tmp",
                                           "model.1.1.1.tmp",  "model..1.tmp",
                                           "other.1.1.tmp",    "model.0123456789.tmp",
                                           "mode.1.1.tmp",     "model.1.1",
                                           "modelx.1.1.tmp",   "model.0123456789ABCDEF.tmp"};
  for (const std::string& name : others) std::ofstream(Path(name)) << "mine";
  fs::create_directory(Path("model.2.2.tmp"));
  ASSERT_TRUE(WriteFile(Path("model"), "whole").ok());
  std::vector<std::string> want = others;
  want.insert(want.end(), {"model", "model.2.2.tmp"});
  EXPECT_THAT(Names(), ::testing::UnorderedElementsAreArray(want));
}

TEST_F(AtomicFileTest, WhoStillWritesIsNotSwept) {
  auto first = AtomicFile::Create(Path("model"));
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(WriteFile(Path("model"), "second").ok());
  ASSERT_TRUE(first->Write(std::as_bytes(std::span(std::string_view("first")))).ok());
  ASSERT_TRUE(first->Commit().ok());
  EXPECT_EQ(Text("model"), "first");
  EXPECT_THAT(Names(), ElementsAre("model"));
}

TEST_F(AtomicFileTest, WhatAKilledWriterLeavesIsSweptByTheNext) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    const auto file = AtomicFile::Create(Path("model"));
    (void)write(told[1], file.ok() ? "y" : "n", 1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(told[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  ASSERT_EQ(Names().size(), 1u);
  ASSERT_TRUE(WriteFile(Path("model"), "new").ok());
  EXPECT_EQ(Names().size(), 2u) << "it lives";
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  ASSERT_TRUE(WriteFile(Path("model"), "newer").ok());
  EXPECT_THAT(Names(), ElementsAre("model"));
  close(told[0]);
  close(told[1]);
}

TEST_F(AtomicFileTest, InPlaceIsWrittenWhatCannotBeRenamedTo) {
  std::ofstream(Path("word")) << "something longer";
  ASSERT_TRUE(OverwriteFile(Path("word"), "short").ok());
  EXPECT_EQ(Text("word"), "short");
  EXPECT_EQ(OverwriteFile("/dev/full", "x").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(OverwriteFile(folder_, "x").code(), StatusCode::kInvalidArgument);
}

TEST_F(AtomicFileTest, SpaceIsThatOfTheFoldersDisk) {
  const auto space = SpaceOf(folder_);
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_GT(space->total_bytes, 0u);
  EXPECT_LE(space->free_bytes, space->total_bytes);
  EXPECT_EQ(SpaceOf(Path("none")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace paceline::files
