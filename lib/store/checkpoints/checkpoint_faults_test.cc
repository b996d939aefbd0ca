// Checkpoints whose writer is killed, whose disk is full, whose files are torn: what is there
// afterwards is whole or counts for nothing.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/kill_timer.h"
#include "lib/files/testing/walk_faults.h"
#include "lib/store/checkpoints/checkpoint_testing.h"

namespace paceline::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::SliceUnderTest;
using testing::TemporaryFolder;
using testing::WriteWholeCheckpoint;

// The newest that is complete; fails the test if it cannot be read to the last bit.
uint64_t ReadNewest(const std::string& folder) {
  const auto scan = ScanCheckpoints(folder);
  EXPECT_TRUE(scan.ok()) << scan.status();
  EXPECT_TRUE(scan->problems.empty()) << scan->problems.front();
  if (scan->complete.empty()) return 0;
  const CheckpointManifest& manifest = scan->complete.front().manifest;
  const uint64_t version = manifest.version.value();
  SliceUnderTest read(0, 1, optim::SgdOptions{.momentum = 0.9});
  const Status status =
      read.Read(SlicePath(folder, manifest.name, ShardId(0)), manifest.shards.at(0), version);
  EXPECT_TRUE(status.ok()) << status;
  const SliceUnderTest want(0, 1, optim::SgdOptions{.momentum = 0.9},
                            static_cast<float>(version + 1));
  EXPECT_EQ(read.bytes, want.bytes);
  return manifest.serial;
}

using Clock = std::chrono::steady_clock;

// When a writer is killed: at that share of the time that a life's first checkpoint takes, counted
// from the life's begin, or, with `sees_one`, from the moment when that checkpoint is there.
struct Death {
  bool sees_one;
  double share;
  Clock::duration takes;  // As another life has measured it, for one that does not see its own.
};

// Writes one checkpoint after the other, from serial `newest` + 1 on, and tells of each.
[[noreturn]] void WriteUntilKilled(const std::string& folder, uint64_t newest, int told,
                                   const Death& death) {
  using paceline::testing::KillThisProcessIn;
  const Clock::time_point born = Clock::now();
  if (!death.sees_one) KillThisProcessIn(death.takes * death.share);
  for (uint64_t serial = newest + 1;; ++serial) {
    if (!WriteWholeCheckpoint(folder, serial, serial).ok()) _exit(1);
    std::vector<std::string> kept;
    const auto scan = ScanCheckpoints(folder);
    for (size_t i = 0; i < std::min<size_t>(2, scan->complete.size()); ++i)
      kept.push_back(scan->complete[i].manifest.name);
    if (!KeepCheckpoints(folder, kept).ok() || write(told, "x", 1) != 1) _exit(1);
    if (death.sees_one && serial == newest + 1)
      KillThisProcessIn((Clock::now() - born) * death.share);
  }
}

// Forty lives of a writer, each killed at another moment of its work: half of them while they write
// the first checkpoint of their life, the others later.
TEST(CheckpointFaultsTest, WriterKilledAnywhereLeavesTheNewestWhole) {
  constexpr int kDeadlineMs = 120000;
  const TemporaryFolder folder;
  std::mt19937 random(1);
  uint64_t newest = 0;
  Clock::duration takes{};  // A life until its first checkpoint is there.
  for (int life = 0; life < 40; ++life) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const bool sees_one = life % 2 == 0;
    const double share = static_cast<double>(random() % 1000) / 1000;  // Chooses the moment.
    const Clock::time_point born = Clock::now();
    const pid_t writer = fork();
    if (writer == 0) WriteUntilKilled(folder.path(), newest, told[1], {sees_one, share, takes});
    close(told[1]);
    if (sees_one) {
      pollfd first{.fd = told[0], .events = POLLIN, .revents = 0};
      const bool is_told = poll(&first, 1, kDeadlineMs) == 1;
      EXPECT_TRUE(is_told) << "the writer writes nothing";
      if (!is_told) kill(writer, SIGKILL);
      takes = Clock::now() - born;
    }
    int status = 0;
    waitpid(writer, &status, 0);
    close(told[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer gave up";
    const uint64_t found = ReadNewest(folder.path());
    EXPECT_GE(found, newest + (sees_one ? 1 : 0)) << "a complete checkpoint was lost";
    newest = found;
  }
}

TEST(CheckpointFaultsTest, FileTornByALostDiskIsNotRead) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 1, 1).ok());
  const std::string path = SlicePath(folder.path(), "000001-g1.0-v1", ShardId(0));
  const auto manifest = ScanCheckpoints(folder.path())->complete.at(0).manifest;
  const uint64_t size = fs::file_size(path);
  for (const uint64_t left : {size - 1, size / 2, uint64_t{9}, uint64_t{0}}) {
    fs::resize_file(path, left);
    SliceUnderTest slice(0, 1, optim::SgdOptions{.momentum = 0.9});
    EXPECT_EQ(slice.Read(path, manifest.shards[0], 1).code(), StatusCode::kDataLoss) << left;
  }
}

TEST(CheckpointFaultsTest, FullVolumeIsToldAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=400k") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs the right to mount";
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 1, 1).ok()) << "the first fits";
  const Status full = WriteWholeCheckpoint(folder.path(), 2, 2);
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(Message(full), HasSubstr("000002-g1.0-v2/shard-0.safetensors"));
  EXPECT_TRUE(fs::is_empty(folder.path() + "/000002-g1.0-v2"));
  EXPECT_EQ(ReadNewest(folder.path()), 1u);
  // Room again: the next one is whole.
  EXPECT_TRUE(KeepCheckpoints(folder.path(), {}).ok());
  EXPECT_TRUE(WriteWholeCheckpoint(folder.path(), 3, 3).ok());
  EXPECT_EQ(ReadNewest(folder.path()), 3u);
  umount(folder.path().c_str());
}

// A second checkpoint beside a first one, the old one taken away after it; each call to the disk
// fails in turn, or the machine stops there.
class FaultyCheckpoints {
 public:
  static Status WriteSecond(files::testing::FaultyDisk& disk, const std::string& folder) {
    PACELINE_RETURN_IF_ERROR(WriteWholeCheckpoint(folder, 2, 2, "run", disk));
    return KeepCheckpoints(folder, {"000002-g1.0-v2"}, disk);
  }

  std::unique_ptr<files::testing::FaultyDisk> WithFirst() {
    folder_.emplace();
    auto disk = std::make_unique<files::testing::FaultyDisk>(folder_->path());
    EXPECT_TRUE(WriteWholeCheckpoint(path(), 1, 1, "run", *disk).ok());
    return disk;
  }
  const std::string& path() const { return folder_->path(); }

 private:
  std::optional<TemporaryFolder> folder_;
};

// A coordinator that has gone back beyond it, and dies, does not find it again: at once, and after
// a crash of the machine.
TEST(CheckpointFaultsTest, AForsakenCheckpointStaysAwayWhateverComesNext) {
  FaultyCheckpoints checkpoints;
  const auto disk = checkpoints.WithFirst();
  ASSERT_TRUE(WriteWholeCheckpoint(checkpoints.path(), 2, 2, "run", *disk).ok());
  const Status forsaken = ForsakeCheckpoint(checkpoints.path(), "000002-g1.0-v2", *disk);
  ASSERT_TRUE(forsaken.ok()) << forsaken;
  EXPECT_EQ(ReadNewest(checkpoints.path()), 1u);
  disk->Crash();
  EXPECT_EQ(ReadNewest(checkpoints.path()), 1u);
  EXPECT_EQ(ScanCheckpoints(checkpoints.path())->serial_max, 2u) << "its name is used";
  EXPECT_TRUE(ForsakeCheckpoint(checkpoints.path(), "000002-g1.0-v2", *disk).ok());
  EXPECT_TRUE(ForsakeCheckpoint(checkpoints.path(), "000009-g1.0-v9", *disk).ok());
}

TEST(CheckpointFaultsTest, EachFaultOfTheDiskLeavesTheNewestIntact) {
  FaultyCheckpoints checkpoints;
  files::testing::WalkFaults(
      {ENOSPC, EROFS, EIO}, [&] { return checkpoints.WithFirst(); },
      [&](auto& disk) { return FaultyCheckpoints::WriteSecond(disk, checkpoints.path()); },
      [&](int, uint64_t call, const Status& status) {
        SCOPED_TRACE(fmt::format("call {}: {}", call, Message(status)));
        EXPECT_GE(ReadNewest(checkpoints.path()), status.ok() ? 2u : 1u);
        // The disk works again.
        ASSERT_TRUE(WriteWholeCheckpoint(checkpoints.path(), 3, 3).ok());
        ASSERT_TRUE(KeepCheckpoints(checkpoints.path(), {"000003-g1.0-v3"}).ok());
        EXPECT_EQ(ReadNewest(checkpoints.path()), 3u);
        EXPECT_EQ(std::distance(fs::directory_iterator(checkpoints.path()), {}), 1);
      });
}

TEST(CheckpointFaultsTest, ACrashAtEachCallLeavesTheNewestIntact) {
  FaultyCheckpoints checkpoints;
  files::testing::WalkFaults(
      {EIO}, [&] { return checkpoints.WithFirst(); },
      [&](auto& disk) {
        const Status status = FaultyCheckpoints::WriteSecond(disk, checkpoints.path());
        disk.Crash();
        return status;
      },
      [&](int, uint64_t call, const Status& status) {
        SCOPED_TRACE(fmt::format("call {}: {}", call, Message(status)));
        EXPECT_GE(ReadNewest(checkpoints.path()), status.ok() ? 2u : 1u);
      });
}

TEST(CheckpointFaultsTest, WhatWasSaidToBeCompleteOutlivesACrash) {
  FaultyCheckpoints checkpoints;
  const auto disk = checkpoints.WithFirst();
  disk->Crash();
  EXPECT_EQ(ReadNewest(checkpoints.path()), 1u);
  ASSERT_TRUE(FaultyCheckpoints::WriteSecond(*disk, checkpoints.path()).ok());
  disk->Crash();
  EXPECT_EQ(ReadNewest(checkpoints.path()), 2u);
}

}  // namespace
}  // namespace paceline::store
