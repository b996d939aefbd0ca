#include "cli/local/resume.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/local/job_folder.h"

namespace paceline::local {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ResumeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "runs-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    runs_ = pattern;
  }
  void TearDown() override { fs::remove_all(runs_); }

  std::string Run(const std::string& name) const { return runs_ + "/" + name; }
  // A run whose newest checkpoint is complete since so many hours.
  void Make(const std::string& name, int hours_ago) const {
    const fs::path checkpoint = DefaultCheckpointFolder(Run(name)) + "/000002-g1.0-v7";
    fs::create_directories(checkpoint);
    std::ofstream(checkpoint / "manifest.json") << "{}";
    fs::last_write_time(checkpoint / "manifest.json",
                        fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
  }

  std::string runs_;
};

TEST_F(ResumeTest, TheNewestCheckpointOfThatJobIsFound) {
  Make("digits-20260101-000000-9", 5);
  Make("digits-20250101-000000-123", 2);  // Older, and gone on from later.
  Make("digits-2-20260101-000000-9", 1);
  Make("digits-x-20260101-000000-9", 1);
  Make("digits", 1);
  fs::create_directories(DefaultCheckpointFolder(Run("digits-20260102-000000-9")) +
                         "/000001-g1.0-v0");  // Incomplete.
  const auto found = FindResumable(runs_, "digits");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, Run("digits-20250101-000000-123"));
  EXPECT_EQ(FindResumable(runs_, "digits-2").value(), Run("digits-2-20260101-000000-9"));
}

TEST_F(ResumeTest, WithoutAnyItIsSaidWhereWasLooked) {
  for (const std::string& runs : {runs_, runs_ + "/none"}) {
    const auto found = FindResumable(runs, "digits");
    EXPECT_EQ(found.status().code(), StatusCode::kNotFound);
    EXPECT_THAT(Message(found.status()), HasSubstr("no run of digits under " + runs));
  }
}

TEST_F(ResumeTest, ARunThatGoesOnKeepsItsCheckpoints) {
  const std::string path = JobFolder::NewPath(runs_, "digits");
  std::optional<JobFolder> folder = JobFolder::Create(path).value();
  Make(fs::path(path).filename(), 1);
  const auto found = FindResumable(runs_, "digits");
  EXPECT_EQ(found.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(found.status()), HasSubstr("a run that goes on: " + path));
  folder.reset();
  EXPECT_EQ(FindResumable(runs_, "digits").value(), path);
}

TEST_F(ResumeTest, CheckpointsAreMovedToTheRunThatGoesOnFromThem) {
  Make("digits-20260101-000000-9", 1);
  const std::string next = Run("digits-20260102-000000-9");
  fs::create_directory(next);
  ASSERT_TRUE(TakeOverCheckpoints(Run("digits-20260101-000000-9"), next).ok());
  EXPECT_EQ(FindResumable(runs_, "digits").value(), next);
  EXPECT_FALSE(fs::exists(DefaultCheckpointFolder(Run("digits-20260101-000000-9"))));
}

}  // namespace
}  // namespace paceline::local
