// Batches that workers prepare ahead, as the manifest says.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Batches of 128 KiB: smaller ones are gathered on the spot.
std::string Manifest(const TestFolder& folder) {
  constexpr int64_t kSamples = 256, kFeatures = 2048;
  std::vector<float> values(kSamples * kFeatures);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  std::vector<int64_t> targets(kSamples);
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<int64_t>(i % 3);
  WriteDataset(folder.path() + "/data.safetensors", values, kFeatures, targets);
  return folder.Write("job.yaml", R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: t}
spec:
  model: {builtIn: Softmax, inputShape: [2048], classes: 3, loss: CrossEntropy}
  data: {train: data.safetensors}
  training:
    globalBatchSize: 32
    optimizer: {type: SGD}
    learningRate: {base: 0.001}
    stop: {maxEpochs: 3}
    seed: 1
  sync: {scheme: BSP}
  parameterServer: {shards: 1}
  workers: {replicas: 2}
)");
}

TEST(PrefetchTest, WorkersPrepareAsManyBatchesAsTheManifestSays) {
  for (const int ahead : {2, 0}) {
    const TestFolder folder;
    LiveRun run(folder, Manifest(folder),
                Sets({fmt::format("spec.data.prefetchBatches={}", ahead)}));
    const Ended ended = run.Wait();
    ASSERT_EQ(ended.code, 0) << ended.err;
    ExpectEverySampleOnce(ended.last_state, 3);
    const std::string said = "batches expected=";
    if (ahead > 0) {
      EXPECT_THAT(run.LogOf("worker-0"), HasSubstr(said));
    } else {
      EXPECT_THAT(run.LogOf("worker-0"), Not(HasSubstr(said)));
    }
  }
}

}  // namespace
}  // namespace paceline::integration
