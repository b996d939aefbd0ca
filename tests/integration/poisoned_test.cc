// Steps that hang, and such as only look like it; samples on which a step hangs or the model
// raises: found, left out and named, and the job ends well.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/learn/testing/scripts.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSamples = 64;
constexpr uint64_t kPoisoned = 17;

// 64 samples of four features, of which one holds the value that the models below look for.
std::string Manifest(const TestFolder& folder, const std::string& source) {
  constexpr int64_t kFeatures = 4;
  std::vector<float> values;
  std::vector<int64_t> targets;
  for (uint64_t i = 0; i < kSamples; ++i) {
    targets.push_back(static_cast<int64_t>(i % 2));
    for (int64_t f = 0; f < kFeatures; ++f)
      values.push_back(i == kPoisoned ? 1e6F : static_cast<float>((i % 2 == 0 ? 1 : -1) * (f + 1)));
  }
  WriteDataset(folder.path() + "/data.safetensors", values, kFeatures, targets);
  learn::testing::SaveScript(folder.path() + "/linear.pt", {{.name = "weight", .shape = {4, 2}}},
                             source);
  return folder.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{torchScript: linear.pt, loss: CrossEntropy}}
  data: {{train: data.safetensors}}
  training:
    globalBatchSize: 8
    optimizer: {{type: SGD}}
    learningRate: {{base: 0.01}}
    stop: {{maxEpochs: 2}}
    seed: 1
  sync: {{scheme: BSP}}
  parameterServer:
    shards: 1
    template: {{spec: {{containers: [{{name: ps, args: [--hang-floor-seconds, "2"]}}]}}}}
  workers:
    replicas: 2
    stragglerPolicy: {{firstStepSeconds: 3}}
)"));
}

void ExpectLeftOutOnce(const Ended& ended) {
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.last_state["poisonedSamples"], 1);
  EXPECT_EQ(ended.last_state["poisoned"][0]["sample"], kPoisoned);
  ASSERT_EQ(ended.last_state["epochs"].size(), 2u);
  for (const nlohmann::json& epoch : ended.last_state["epochs"]) {
    EXPECT_EQ(epoch["discarded"], 1) << epoch;
    EXPECT_EQ(epoch["committed"], kSamples - 1) << epoch;
  }
  EXPECT_EQ(ended.last_state["rollBacks"], 0);
  EXPECT_THAT(ended.err, HasSubstr("left out because they made two workers ill, or ended them: "
                                   "sample 17 (position "));
}

TEST(PoisonedTest, ASampleThatEndsEveryProcessIsFoundAndLeftOut) {
  const TestFolder folder;
  LiveRun run(folder, Manifest(folder, R"(
def forward(self, inputs):
    assert not bool((inputs > 1000.0).any()), "a value out of range"
    return torch.matmul(inputs.flatten(1), self.weight)
)"),
              {});
  const Ended ended = run.Wait(120);
  ExpectLeftOutOnce(ended);
  EXPECT_THAT(ended.err, HasSubstr("a value out of range"));
}

class HungStepTest : public ::testing::TestWithParam<std::string> {};

// With BSP the step computes for ever. With the other schemes the step waits for a pipe that nobody
// writes to, which takes no processor from tests that run beside this one.
std::string HangingModel(const TestFolder& folder, bool computes) {
  if (computes) {
    return R"(
def forward(self, inputs):
    inputs = inputs.flatten(1)
    while bool((inputs > 1000.0).any()):
        inputs = inputs + 1.0
    return torch.matmul(inputs, self.weight)
)";
  }
  const std::string pipe = folder.path() + "/pipe";
  EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  return fmt::format(R"(
def forward(self, inputs):
    inputs = inputs.flatten(1)
    if bool((inputs > 1000.0).any()):
        inputs = inputs + torch.from_file("{}", False, 1)
    return torch.matmul(inputs, self.weight)
)",
                     pipe);
}

// The step never ends: its worker is expelled for it, ends by itself with the code that says that
// it cannot work there, and is started again. Three times at least, which is more than backoffLimit
// under BSP, and no failure; where both epochs are open it is met in both. Half a minute a scheme,
// most of it in steps that hang until that is told from slow.
TEST_P(HungStepTest, IsEndedReplacedAndItsSampleFound) {
  const TestFolder folder;
  LiveRun run(folder, Manifest(folder, HangingModel(folder, GetParam() == "BSP")),
              Sets({fmt::format("spec.runPolicy.backoffLimit={}", GetParam() == "BSP" ? 1 : 6),
                    "spec.sync.scheme=" + GetParam()}));
  const Ended ended = run.Wait(180);
  ExpectLeftOutOnce(ended);
  EXPECT_THAT(ended.err, HasSubstr("expelled: its step hangs: no progress for"));
  int expulsions = 0;
  for (const nlohmann::json& worker : ended.last_state["workers"])
    expulsions += worker["expulsions"].get<int>();
  EXPECT_GE(expulsions, 3);  // Two for the range, one for the sample.
  EXPECT_THAT(run.LogOf("ps-0"), HasSubstr("kind=hung"));
}

INSTANTIATE_TEST_SUITE_P(Schemes, HungStepTest,
                         ::testing::Values("BSP", "BackupWorkers", "SSP", "ASP", "DBW", "WBSP",
                                           "PSPlus"),
                         [](const auto& info) { return info.param; });

// One worker sleeps for Pareto-like times, twice the floor at the longest; another one's link takes
// as long for each message. Both would hang if that were computing.
TEST(HangingTest, SlowLinksAndInjectedDelaysAreNoHang) {
  const TestFolder folder;
  folder.Write("pareto.csv", "0.1\n4.5\n0.2\n");
  LiveRun run(
      folder, Manifest(folder, R"(
def forward(self, inputs):
    return torch.matmul(inputs.flatten(1), self.weight)
)"),
      Sets({"spec.training.stop.maxSteps=3", "spec.chaos.enabled=true",
            "spec.chaos.delays=[{kind: Trace, workers: [0], trace: pareto.csv}]",
            "spec.chaos.links=[{workers: [1], bytesPerSecond: 100000, latencySeconds: 1.5}]"}));
  const Ended ended = run.Wait(120);
  ASSERT_EQ(ended.code, 0) << ended.err;
  ASSERT_EQ(ended.last_state["workers"].size(), 2u);
  for (const nlohmann::json& worker : ended.last_state["workers"]) {
    EXPECT_EQ(worker["expulsions"], 0) << worker;
    EXPECT_EQ(worker["incarnation"], 1) << worker;
  }
}

}  // namespace
}  // namespace paceline::integration
