#include "lib/store/checkpoints/checkpoint_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/store/checkpoints/checkpoint_testing.h"

namespace paceline::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TemporaryFolder;
using ::testing::UnorderedElementsAre;
using testing::WriteWholeCheckpoint;

std::vector<uint64_t> Versions(const CheckpointScan& scan) {
  std::vector<uint64_t> versions;
  for (const FoundCheckpoint& found : scan.complete)
    versions.push_back(found.manifest.version.value());
  return versions;
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(CheckpointFolderTest, MissingFolderHoldsNothing) {
  const auto scan = ScanCheckpoints("/nowhere/at/all");
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_THAT(scan->complete, IsEmpty());
  EXPECT_EQ(scan->serial_max, 0u);
}

TEST(CheckpointFolderTest, NewestIsTheOneWrittenLast) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 8, 100).ok());
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 9, 20).ok()) << "after a roll back";
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 10, 40).ok());
  ASSERT_TRUE(MakeCheckpointFolder(folder.path(), CheckpointName(11, {1, 0}, Version(60))).ok());
  const auto scan = ScanCheckpoints(folder.path());
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_THAT(Versions(*scan), ElementsAre(40, 20, 100));
  EXPECT_EQ(scan->complete[0].state, "state of v40");
  EXPECT_EQ(scan->complete[0].manifest.name, "000010-g1.0-v40");
  EXPECT_THAT(scan->complete[0].manifest.shards, SizeIs(1));
  EXPECT_EQ(scan->serial_max, 11u) << "the incomplete one's name is taken";
  EXPECT_THAT(scan->problems, IsEmpty());
}

TEST(CheckpointFolderTest, DamagedOnesAreToldAndLeftOut) {
  const TemporaryFolder folder;
  for (const uint64_t serial : {1, 2, 3})
    ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), serial, serial).ok());
  std::ofstream(folder.path() + "/000003-g1.0-v3/state.json") << "state of v4";
  std::ofstream(folder.path() + "/000002-g1.0-v2/manifest.json") << "{\"format\":";
  const auto scan = ScanCheckpoints(folder.path());
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_THAT(Versions(*scan), ElementsAre(1));
  EXPECT_THAT(scan->problems,
              UnorderedElementsAre(HasSubstr("000003-g1.0-v3/state.json is damaged"),
                                   HasSubstr("000002-g1.0-v2/manifest.json")));
}

// As if a later version had run meanwhile: that training is not to be thrown away unasked.
TEST(CheckpointFolderTest, ANewestOfALaterFormatIsNoMereProblem) {
  const TemporaryFolder folder;
  for (const uint64_t serial : {1, 2})
    ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), serial, serial).ok());
  const std::string newest = folder.path() + "/000002-g1.0-v2";
  std::ofstream(newest + "/manifest.json") << R"({"format": 2})";
  const auto scan = ScanCheckpoints(folder.path());
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_THAT(Versions(*scan), ElementsAre(1));
  EXPECT_EQ(scan->unreadable.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(Message(scan->unreadable),
            fmt::format("{0}/manifest.json: it has format 2, this version reads 1; run the version "
                        "of Paceline that wrote it, or move {0} away to go on without it",
                        newest));
  // Beside a newer one that is good it is left out as a damaged one is.
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 3, 3).ok());
  const auto again = ScanCheckpoints(folder.path());
  EXPECT_TRUE(again->unreadable.ok()) << again->unreadable;
  EXPECT_THAT(again->problems, ElementsAre(HasSubstr("format 2")));
}

TEST(CheckpointFolderTest, WhatMayNotBeReadIsNoMereProblem) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 1, 1).ok());
  fs::permissions(folder.path(), fs::perms::all);
  const std::string only = folder.path() + "/000001-g1.0-v1";
  const auto scan_as_nobody = [&] {
    const bool is_root = geteuid() == 0;  // Who may read everything.
    EXPECT_EQ(is_root ? seteuid(65534) : 0, 0);
    auto scan = ScanCheckpoints(folder.path());
    EXPECT_EQ(is_root ? seteuid(0) : 0, 0);
    return scan;
  };
  for (const char* name : {"/state.json", "/manifest.json", ""}) {
    fs::permissions(only + name, fs::perms::none);
    const auto scan = scan_as_nobody();
    ASSERT_TRUE(scan.ok()) << scan.status();
    EXPECT_EQ(scan->unreadable.code(), StatusCode::kPermissionDenied) << name;
    EXPECT_THAT(Message(scan->unreadable), HasSubstr("let this process read it"));
  }
  fs::permissions(only, fs::perms::all);
}

TEST(CheckpointFolderTest, KeepsTheNamedAndWhatIsNotItsOwn) {
  const TemporaryFolder folder;
  for (const uint64_t serial : {1, 2, 3})
    ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), serial, serial).ok());
  ASSERT_TRUE(MakeCheckpointFolder(folder.path(), "000004-g1.0-v9").ok());
  fs::create_directory(folder.path() + "/notes");
  const Status kept = KeepCheckpoints(folder.path(), {"000002-g1.0-v2", "000003-g1.0-v3"});
  EXPECT_TRUE(kept.ok()) << kept;
  EXPECT_THAT(Names(folder.path()),
              UnorderedElementsAre("000002-g1.0-v2", "000003-g1.0-v3", "notes"));
}

// A shard's own volume: no manifest there, only its slices and what a killed writer left.
TEST(CheckpointFolderTest, ShardKeepsItsOwnSlices) {
  const TemporaryFolder folder;
  for (const char* name : {"000001-g1.0-v1", "000002-g1.0-v2"}) {
    ASSERT_TRUE(MakeCheckpointFolder(folder.path(), name).ok());
    std::ofstream(SlicePath(folder.path(), name, ShardId(3))) << "slice";
    std::ofstream(SlicePath(folder.path(), name, ShardId(3)) + ".77.1.tmp") << "sli";
  }
  EXPECT_TRUE(KeepSlices(folder.path(), ShardId(3), {"000002-g1.0-v2"}).ok());
  EXPECT_THAT(Names(folder.path()), ElementsAre("000002-g1.0-v2"));
  EXPECT_TRUE(fs::exists(SlicePath(folder.path(), "000002-g1.0-v2", ShardId(3))));
}

TEST(CheckpointFolderTest, ShardLeavesASharedVolumesCheckpointsAlone) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteWholeCheckpoint(folder.path(), 1, 1).ok());
  EXPECT_TRUE(KeepSlices(folder.path(), ShardId(0), {}).ok());
  EXPECT_THAT(Versions(ScanCheckpoints(folder.path()).value()), ElementsAre(1));
}

TEST(CheckpointFolderTest, RemembersWhichRunEndedWell) {
  const TemporaryFolder folder;
  EXPECT_FALSE(ScanCheckpoints(folder.path())->finished_run.has_value());
  ASSERT_TRUE(WriteFinishedRun(folder.path(), "digits-1").ok());
  EXPECT_EQ(ScanCheckpoints(folder.path())->finished_run, "digits-1");
}

}  // namespace
}  // namespace paceline::store
