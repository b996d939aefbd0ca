// A model that runs out of memory above a size, as a GPU's does: the step is abandoned, the limit
// learnt, the samples trained all the same.
#include <csignal>

#include <gmock/gmock.h>

#include "lib/base/testing/places.h"
#include "lib/learn/testing/scripts.h"
#include "lib/sync/trace/replay.h"
#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kScript = R"(
def forward(self, inputs):
    assert not self.training or inputs.size(0) <= 20, "CUDA out of memory. Tried to allocate 20.00 MiB"
    return torch.matmul(inputs.flatten(1), self.weight)
)";

// Four workers would have 32 samples each; 32, 28 and 25 do not fit, 22 neither, 19 do.
std::string Manifest(const TestFolder& folder, const std::string& strategy,
                     const std::string& more = "") {
  learn::testing::SaveScript(folder.path() + "/linear.pt", {{.name = "weight", .shape = {64, 10}}},
                             kScript);
  const std::string data = InSource("deploy/samples/digits");
  return folder.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{torchScript: {0}/linear.pt, loss: CrossEntropy}}
  data: {{train: {1}/train.safetensors, eval: {1}/test.safetensors}}
  training:
    globalBatchSize: 128
    optimizer: {{type: SGD}}
    learningRate: {{base: 0.05}}
    stop: {{maxEpochs: 8}}
  sync: {{scheme: BSP, batchSizing: {{strategy: {2}}}}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 4}}
{3})",
                                              folder.path(), data, strategy, more));
}

class OutOfMemoryTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OutOfMemoryTest, TheStepIsTriedAgainWithLessAndEverySampleCountsOnce) {
  const TestFolder folder;
  LiveRun run(folder, Manifest(folder, GetParam()), {});
  const Ended ended = run.Wait(200);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GT(ended.summary["accuracy"].get<double>(), 0.8);
  ExpectEverySampleOnce(ended.last_state, 8);
  for (const nlohmann::json& worker : ended.last_state["workers"])
    EXPECT_LE(worker["batchSize"], 20) << worker;

  const std::string trace = ReadText(run.RunFolder() + "/policy.trace");
  EXPECT_THAT(trace, HasSubstr("out-of-memory fit=28"));
  EXPECT_THAT(trace, HasSubstr("out-of-memory fit=19"));
  // 4 x 19 of 128 samples: the rate goes down with the batch, but only where sizes are judged.
  if (GetParam() != "Equal") {
    EXPECT_THAT(trace, HasSubstr("lr=0.59375"));
  }
  const auto replay = sync::Replay(trace);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->difference.has_value()) << replay->difference->recorded;
}

// On checkpoints: a job that goes on abandons no step to learn again what it knew.
class LimitsGoOnTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LimitsGoOnTest, AResumedJobGivesNobodyMoreThanFits) {
  const TestFolder kept;
  const std::string manifest =
      Manifest(kept, GetParam(),
               fmt::format("  checkpoint: {{volume: {{hostPath: {{path: {}/checkpoints, type: "
                           "DirectoryOrCreate}}}}}}\n",
                           kept.path()));
  const std::vector<std::string> slow = Sets(Paced(0.002, {"spec.training.stop.maxEpochs=4"}));
  {
    const TestFolder folder;
    LiveRun run(folder, manifest, slow);
    ASSERT_FALSE(
        run.WaitFor([](const nlohmann::json& now) { return now["step"] >= 10; }).is_null());
    run.Signal(SIGINT);
    const Ended ended = run.Wait();
    ASSERT_EQ(ended.code, 130) << ended.err;
    EXPECT_THAT(ReadText(run.RunFolder() + "/policy.trace"), HasSubstr("out-of-memory fit=19"));
  }
  const TestFolder folder;
  LiveRun run(folder, manifest, slow);
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("training goes on from version"));
  ExpectEverySampleOnce(ended.last_state, 4);
  const std::string trace = ReadText(run.RunFolder() + "/policy.trace");
  EXPECT_THAT(trace, Not(HasSubstr("out-of-memory")));
  const auto replay = sync::Replay(trace);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->difference.has_value()) << replay->difference->recorded;
}

INSTANTIATE_TEST_SUITE_P(All, LimitsGoOnTest, ::testing::Values("EMA", "Stepwise"),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(All, OutOfMemoryTest,
                         ::testing::Values("Equal", "EMA", "NARX", "Stepwise"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace paceline::integration
