// Disks that take no file for a while, and leave none of a trained model: it is kept until they do.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// A folder for the model in which something is in its place.
class DiskFaultsTest : public ::testing::Test {
 protected:
  DiskFaultsTest() { fs::create_directories(Model() + "/in-the-way"); }

  std::string Model() const { return output_.path() + "/model.safetensors"; }
  std::string Job(const TestFolder& folder) const {
    return folder.Write(
        "job.yaml",
        DigitsManifest() +
            fmt::format("  output: {{volume: {{hostPath: {{path: {}}}}}}}\n", output_.path()));
  }
  // Trained to the end, and said that the model is not written.
  Json IntoTrouble(LiveRun& run) {
    const Json state = run.WaitFor([](const Json& now) { return now["modelProblem"] != ""; });
    EXPECT_FALSE(state.is_null()) << run.LogOf("ps-0");
    return state;
  }

  TestFolder output_;
};

TEST_F(DiskFaultsTest, AModelThatFindsNoPlaceIsKeptUntilThereIsOne) {
  // Of an earlier pod, whose coordinator had the same process id.
  std::ofstream(Model() + ".1.1.tmp") << "half";
  const TestFolder folder;
  LiveRun run(folder, Job(folder), Sets({"spec.training.stop.maxEpochs=1"}));
  const Json state = IntoTrouble(run);
  EXPECT_THAT(state.value("modelProblem", ""), HasSubstr("rename to " + Model()));
  EXPECT_TRUE(run.WaitForText("the final model cannot be written, is kept and tried again"));
  ASSERT_EQ(kill(run.PidOf("ps-0"), 0), 0) << "whoever holds the model lives";
  fs::remove_all(Model());
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.summary["model"], Model());
  EXPECT_FALSE(ReadModel(Model()).empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(output_.path()), {}), 1) << "no leftovers";
}

TEST_F(DiskFaultsTest, ASummaryThatFindsNoPlaceIsMissed) {
  const TestFolder folder;
  LiveRun run(folder, Job(folder), Sets({"spec.training.stop.maxEpochs=1"}));
  IntoTrouble(run);
  const std::string summary = run.RunFolder() + "/summary.json";
  fs::create_directories(summary + "/in-the-way");
  fs::remove_all(Model());
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.summary["model"], Model()) << "what is printed is all there is";
  EXPECT_THAT(ended.err, HasSubstr(summary + " could not be written"));
}

// A disk of that size for all that a run writes; false where this may not be made.
class SmallDisk {
 public:
  SmallDisk(std::string path, const std::string& size) : path_(std::move(path)) {
    fs::create_directories(path_);
    is_there_ = mount("none", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_there_) umount(path_.c_str());
  }
  bool is_there() const { return is_there_; }

  // All that is free but `bytes`.
  void Fill(uint64_t bytes) const {
    const uint64_t free = fs::space(path_).available;
    std::ofstream(path_ + "/ballast") << std::string(free > bytes ? free - bytes : 0, 'x');
  }

 private:
  const std::string path_;
  bool is_there_ = false;
};

// What others write meanwhile.
TEST(FullDiskTest, TheModelHasRoomThatWasSetAside) {
  const TestFolder folder;
  const SmallDisk disk(folder.path() + "/runs", "3m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small tmpfs needs the right to mount";
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()),
              Sets(Paced(0.002, {"spec.training.stop.maxEpochs=3", "spec.checkpoint.enabled=false",
                                 "spec.observability.trace.maxBytes=0"})));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] > 3; }).is_null());
  disk.Fill(0);
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr("cannot be written")));
  EXPECT_FALSE(ReadModel(ended.summary["model"]).empty());
}

// The trace has what was free; the model needs it.
TEST(FullDiskTest, WhatIsMissingIsSaidBeforeTrainingAndTheTraceGoesBeforeTheModelDoes) {
  const TestFolder folder;
  const SmallDisk disk(folder.path() + "/runs", "1m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small tmpfs needs the right to mount";
  disk.Fill(72 << 10);
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()),
              Sets({"spec.training.stop.maxEpochs=40", "spec.checkpoint.enabled=false"}));
  EXPECT_TRUE(run.WaitForText("make room before training ends, else the model cannot be written"));
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_FALSE(ReadModel(ended.summary["model"]).empty());
  EXPECT_FALSE(fs::exists(run.RunFolder() + "/policy.trace"));
}

TEST_F(DiskFaultsTest, InterruptedItIsTriedOnceMoreAndSaid) {
  const TestFolder folder;
  LiveRun run(folder, Job(folder), Sets({"spec.training.stop.maxEpochs=1"}));
  IntoTrouble(run);
  run.Signal(SIGINT);
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the final model is not written: "));
}

// Not even one checkpoint fits, nor memory to share, nor the model: training goes on all the same.
TEST_F(DiskFaultsTest, ALimitOnTheSizeOfFilesKillsNobody) {
  const TestFolder folder;
  std::string job = DigitsManifest();
  const std::string small = "hidden: 64";
  job.replace(job.find(small), small.size(), "hidden: 10000");
  const std::string manifest = folder.Write("job.yaml", job);
  std::vector<std::string> command = {
      "/usr/bin/env", "prlimit", "--fsize=1000000", ProgramPath("paceline"), "run", manifest,
      "-o",           "json",    "--runs",          folder.path() + "/runs"};
  const auto sets = Sets({"spec.training.stop.maxSteps=10"});
  command.insert(command.end(), sets.begin(), sets.end());
  LiveRun run(folder.path(), command);
  const Json state = IntoTrouble(run);
  ASSERT_FALSE(state.is_null());
  EXPECT_THAT(state.value("modelProblem", ""), HasSubstr("File too large"));
  EXPECT_EQ(state["step"], 10);
  run.Signal(SIGINT);
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, ::testing::Not(HasSubstr("killed by signal")));
  EXPECT_THAT(ended.err, HasSubstr("the final model is not written: "));
}

}  // namespace
}  // namespace paceline::integration
