// What cannot work ends soon, with words that say what would.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

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
using ::testing::IsEmpty;

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

// 64 samples of which one is poisoned.
class NonFiniteTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSamples = 64;

  NonFiniteTest() {
    constexpr int64_t kFeatures = 4;
    std::vector<float> values;
    std::vector<int64_t> targets;
    for (uint64_t i = 0; i < kSamples; ++i) {
      targets.push_back(static_cast<int64_t>(i % 2));
      for (int64_t f = 0; f < kFeatures; ++f)
        values.push_back(static_cast<float>((i % 2 == 0 ? 1 : -1) * (f + 1)));
    }
    values[17 * kFeatures] = std::numeric_limits<float>::quiet_NaN();
    WriteDataset(folder_.path() + "/poisoned.safetensors", values, kFeatures, targets);
  }

  std::string Manifest(const std::string& on_drop) {
    return folder_.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{builtIn: Softmax, inputShape: [4], classes: 2, loss: CrossEntropy}}
  data: {{train: poisoned.safetensors, onDrop: {}}}
  training:
    globalBatchSize: 8
    optimizer: {{type: SGD}}
    learningRate: {{base: 0.1}}
    stop: {{maxEpochs: 4}}
    seed: 1
  sync: {{scheme: BSP}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 4}}
)",
                                                 on_drop));
  }

  TestFolder folder_;
};

// Once an epoch, with the other sample of its share.
TEST_F(NonFiniteTest, PushesAreLeftOutCountedAndNamed) {
  LiveRun run(folder_, Manifest("Discard"), {});
  const Ended ended = run.Wait(60);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.last_state["nonFinitePushes"], 4);
  for (const nlohmann::json& epoch : ended.last_state["epochs"]) {
    EXPECT_EQ(epoch["discarded"], 2) << epoch;
    EXPECT_EQ(epoch["committed"], kSamples - 2) << epoch;
  }
  EXPECT_THAT(run.LogOf("ps-0"),
              ContainsRegex("kind=non-finite worker=w[0-3] .*is not finite, loss nan"));
  for (const auto& [name, bytes] : ReadModel(ended.summary["model"])) {
    for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      EXPECT_TRUE(std::isfinite(value)) << name;
    }
  }
}

// The samples come back until nothing else is left: the job must not try for ever.
TEST_F(NonFiniteTest, TrainingThatCannotGoOnEndsAndSaysWhy) {
  const Ended ended = RunToEnd(folder_, Manifest("Return"), {}, 60);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, ContainsRegex("gradients are not finite: w[0-3] at version v|"
                                       "expelled: its gradients are not finite again and again"));
  EXPECT_EQ(ended.summary["succeeded"], false);
  EXPECT_EQ(ended.summary["model"], nullptr);
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

TEST_F(RefusalsTest, FullDiskFailsTheJobAndLeavesNoHalfModel) {
  const std::string small = folder_.path() + "/runs";
  std::filesystem::create_directory(small);
  if (mount("none", small.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "needs to mount a small file system, which is not allowed here: "
                 << std::strerror(errno);
  }
  const std::string manifest = folder_.Write("job.yaml", DigitsManifest());
  LiveRun run(folder_, manifest,
              {"--set", "spec.model.hidden=16384", "--set", "spec.training.stop.maxSteps=3"});
  const Ended ended = run.Wait(60);
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(run.RunFolder())) {
    const std::string name = entry.path().filename();
    if (name.find("model") != std::string::npos) models.push_back(name);
  }
  umount2(small.c_str(), MNT_DETACH);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("model.safetensors"), HasSubstr("No space left")));
  EXPECT_THAT(models, IsEmpty());
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
