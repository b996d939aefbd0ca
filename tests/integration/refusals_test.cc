// What cannot work ends soon, with words that say what would.
#include <filesystem>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class RefusalsTest : public ::testing::Test {
 protected:
  Ended Run(const std::vector<std::string>& arguments) {
    return RunToEnd(folder_, folder_.Write("job.yaml", DigitsManifest()), arguments, 60);
  }

  TestFolder folder_;
};

TEST_F(RefusalsTest, DataOfAnotherShapeThanTheModelsIsSaid) {
  const Ended ended = Run({"--set", "spec.model.inputShape=[3, 16, 16]"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("train.safetensors"), HasSubstr("[1, 8, 8]"),
                               HasSubstr("[3, 16, 16]")));
}

TEST_F(RefusalsTest, ClassesBeyondTheModelsOutputsAreSaid) {
  const Ended ended = Run({"--set", "spec.model.classes=7"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("train.safetensors"), HasSubstr("7")));
}

TEST_F(RefusalsTest, FileThatIsNotThereIsSaid) {
  const Ended ended = Run({"--set", "spec.data.train=none.safetensors"});
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("none.safetensors"));
}

TEST_F(RefusalsTest, ALimitOfDescriptorsThatNothingCanWorkWithIsSaid) {
  LiveRun run(folder_.path(),
              {"/bin/sh", "-c", "ulimit -n 24; exec \"$0\" \"$@\"", ProgramPath("paceline"), "run",
               folder_.Write("job.yaml", DigitsManifest()), "-o", "json", "--runs",
               folder_.path() + "/runs", "--set", "spec.runPolicy.backoffLimit=0"});
  const Ended ended = run.Wait(60);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("the limit of open files is 24, want at least 64"));
}

// Whatever this machine has: no GPU can be seen by these processes.
std::vector<std::string> WithoutGpu(std::vector<std::string> overrides) {
  overrides.emplace_back(
      "spec.workers.template.spec.containers=[{name: worker, env: [{name: CUDA_VISIBLE_DEVICES, "
      "value: \"-1\"}], resources: {limits: {nvidia.com/gpu: 1}}}]");
  return Sets(overrides);
}

TEST_F(RefusalsTest, AGpuThatWasAskedForByNameAndIsNotThereEndsTheJob) {
  const Ended ended =
      Run(WithoutGpu({"spec.workers.device=CUDA", "spec.runPolicy.backoffLimit=0"}));
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("t-worker-"), HasSubstr("device cuda: "),
                               HasSubstr("the machines of 4 of 4 workers cannot do the work")));
  EXPECT_TRUE(ended.summary["model"].is_null()) << ended.summary;
}

TEST_F(RefusalsTest, AGpuThatAClustersManifestWantsIsDoneWithoutAndSaid) {
  const Ended ended = Run(WithoutGpu({}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("spec.workers.template asks for nvidia.com/gpu: computed on a "
                                   "GPU if this machine has one that works, else on the CPU"));
  for (const nlohmann::json& worker : ended.summary["workers"])
    EXPECT_EQ(worker.value("device", ""), "CPU") << ended.summary;
  EXPECT_EQ(ended.summary["workers"].size(), 4);
}

TEST_F(RefusalsTest, PortInUseIsSaid) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Ended ended = Run({"--http-port", port});
  close(taken);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("cannot listen on 127.0.0.1:" + port),
                               HasSubstr("ddress already in use")));
}

TEST_F(RefusalsTest, FullDiskIsWaitedForAndTheModelIsWholeThen) {
  const std::string small = folder_.path() + "/runs";
  std::filesystem::create_directory(small);
  if (mount("none", small.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "needs to mount a small file system, which is not allowed here: "
                 << std::strerror(errno);
  }
  const std::string manifest = folder_.Write("job.yaml", DigitsManifest());
  LiveRun run(folder_, manifest,
              {"--set", "spec.model.hidden=16384", "--set", "spec.training.stop.maxSteps=3"});
  const nlohmann::json state =
      run.WaitFor([](const nlohmann::json& now) { return now["modelProblem"] != ""; });
  EXPECT_THAT(state.value("modelProblem", ""), HasSubstr("No space left")) << run.LogOf("ps-0");
  EXPECT_FALSE(std::filesystem::exists(run.RunFolder() + "/model.safetensors"));
  EXPECT_EQ(mount("none", small.c_str(), "tmpfs", MS_REMOUNT, "size=200m"), 0);
  const Ended ended = run.Wait(60);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("is kept and tried again"));
  EXPECT_FALSE(ReadModel(run.RunFolder() + "/model.safetensors").empty());
  umount2(small.c_str(), MNT_DETACH);
}

TEST(UsageTest, BadCallsEndWithTwoAndSayWhatWouldBeRight) {
  const TestFolder folder;
  const std::string bad =
      folder.Write("bad.yaml", "apiVersion: paceline.dev/v1alpha1\nkind: Job\n");
  const std::string good = folder.Write("good.yaml", DigitsManifest());
  for (const auto& [arguments, words] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"paceline"}, "subcommand"},
           {{"paceline", "walk"}, "walk"},
           {{"paceline", "run"}, "required"},
           {{"paceline", "run", "/no/such.yaml"}, "/no/such.yaml"},
           {{"paceline", "run", bad}, "TrainingJob"},
           {{"paceline", "validate", bad}, "TrainingJob"},
           {{"paceline", "run", good, "-o", "xml"}, "json"},
           {{"paceline", "run", good, "--set", "spec.sync.schem=SSP"}, "scheme"},
           {{"paceline", "run", good, "--http-port", "70000"}, "70000"}}) {
    const Ended ended = RunProgram(arguments);
    EXPECT_EQ(ended.code, 2) << words;
    EXPECT_THAT(ended.out + ended.err, HasSubstr(words));
  }
}

TEST(UsageTest, HelpAndAGoodManifestEndWithZero) {
  const TestFolder folder;
  const std::string good = folder.Write("good.yaml", DigitsManifest());
  EXPECT_EQ(RunProgram({"paceline", "--help"}).code, 0);
  EXPECT_EQ(RunProgram({"paceline", "run", "--help"}).code, 0);
  const Ended valid = RunProgram({"paceline", "validate", good});
  EXPECT_EQ(valid.code, 0) << valid.err;
}

}  // namespace
}  // namespace paceline::integration
