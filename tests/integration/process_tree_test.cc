// What scripts start ends with the run, however the run ends.
#include <csignal>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"
#include "lib/process/tree.h"
#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using paceline::testing::Eventually;
namespace fs = std::filesystem;

// Two workers that never train, each a shell and three programs: in a pipe, in a session of its
// own, without a parent.
constexpr const char* kManifest = R"(
apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: t}
spec:
  training: {globalBatchSize: 8, learningRate: {base: 0.1}, stop: {maxEpochs: 1}}
  workers:
    replicas: 2
    command: [sh, -c, "setsid sleep 1000 & (sleep 1001 &) ; sleep 1002 | cat; :"]
)";

// Where its sockets lie; they begin its processes' mark. Empty before it can be known.
std::string PrivateFolderOf(const LiveRun& run) {
  const std::string control = ReadText(run.RunFolder() + "/coordinator.control");
  const size_t line = control.find('\n');
  return line == std::string::npos ? "" : fs::path(control.substr(line + 1)).parent_path().string();
}

class ProcessTreeTest : public ::testing::Test {
 protected:
  // Until all ten programs of the two workers and a parameter server run.
  void Start() {
    run_.emplace(folder_, folder_.Write("job.yaml", kManifest), std::vector<std::string>());
    ASSERT_TRUE(Eventually([&] {
      private_folder_ = PrivateFolderOf(*run_);
      return !private_folder_.empty() && Running() == 11;
    }));
  }
  size_t Running() const { return process::SignalTree(private_folder_ + "/", 0, getpid(), 0); }
  void ExpectNothingLeft() const {
    EXPECT_TRUE(Eventually([&] { return Running() == 0 && !fs::exists(private_folder_); }));
  }

  TestFolder folder_;
  std::optional<LiveRun> run_;
  std::string private_folder_;
};

TEST_F(ProcessTreeTest, AKilledRunLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  run_->Signal(SIGKILL);
  EXPECT_EQ(run_->Wait().code, 128 + SIGKILL);
  ExpectNothingLeft();
}

// As `pkill -9 -f "paceline run"` does it.
TEST_F(ProcessTreeTest, ARunWhoseCommandLineIsKilledLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string manifest = folder_.path() + "/job.yaml";
  for (const process::RunningProcess& running : process::RunningProcesses()) {
    const std::string line = ReadText(fmt::format("/proc/{}/cmdline", running.pid));
    if (line.find(manifest) != std::string::npos) kill(running.pid, SIGKILL);
  }
  EXPECT_EQ(run_->Wait().code, 128 + SIGKILL);
  ExpectNothingLeft();
}

TEST_F(ProcessTreeTest, AnInterruptedRunLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  run_->Signal(SIGINT);
  EXPECT_EQ(run_->Wait().code, 130);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace paceline::integration
