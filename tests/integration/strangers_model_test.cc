// Models as strangers bring them: weights under two names, BatchNorm, a loss of their own, and
// outputs that are a tuple or a dict. Such a job ends with its model on disk, whatever its
// evaluator can do.
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"
#include "tests/integration/stranger_model.h"

namespace paceline::integration {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

// More than it is tried out on makes it fail.
constexpr const char* kFailingMetrics = R"(
def metrics(self, inputs, targets) -> Dict[str, Tensor]:
    assert inputs.size(0) <= 2, "no metrics of so many"
    return {"accuracy": torch.mean(inputs)}
)";

std::string Manifest(const TestFolder& folder, const std::string& methods,
                     const std::string& stop = "maxEpochs: 4") {
  SaveStranger(folder.path() + "/model.pt", methods);
  const std::string data = InSource("deploy/samples/digits");
  return folder.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{torchScript: model.pt, loss: Model}}
  data: {{train: {0}/train.safetensors, eval: {0}/test.safetensors}}
  training:
    globalBatchSize: 64
    optimizer: {{type: SGD}}
    learningRate: {{base: 0.1}}
    stop: {{{1}}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 2}}
  evaluator: {{periodSeconds: 200ms}}
  runPolicy: {{backoffLimit: 1}}
)",
                                              data, stop));
}

void ExpectWholeModel(const Ended& ended) {
  ASSERT_TRUE(ended.summary["model"].is_string()) << ended.summary;
  EXPECT_THAT(ReadModel(ended.summary["model"]),
              ElementsAre(Key("batches"), Key("encode"), Key("head"), Key("norm_bias"),
                          Key("norm_weight"), Key("running_mean"), Key("running_var")));
}

TEST(StrangersModelTest, OutputsMayBeATupleOrADict) {
  for (const char* const methods : {kTupleOutput, kDictOutput}) {
    SCOPED_TRACE(methods);
    const TestFolder folder;
    const Ended ended = RunToEnd(folder, Manifest(folder, methods), {});
    ASSERT_EQ(ended.code, 0) << ended.err;
    ExpectWholeModel(ended);
    EXPECT_GT(ended.summary["accuracy"].get<double>(), 0.8) << ended.summary;
    EXPECT_THAT(ended.err, Not(HasSubstr("started again")));
  }
}

TEST(StrangersModelTest, AnEvaluatorThatCannotWorkIsSaidAndNotTheJobsEnd) {
  const TestFolder folder;
  const std::string manifest =
      Manifest(folder, std::string(kTupleOutput) + kFailingMetrics, "maxEpochs: 8");
  const Ended ended = RunToEnd(folder, manifest, Sets(Paced(0.001, {})));
  EXPECT_EQ(ended.code, 0) << ended.err;
  ExpectWholeModel(ended);
  EXPECT_TRUE(ended.summary["accuracy"].is_null()) << ended.summary;
  EXPECT_THAT(ended.err, HasSubstr("no metrics of so many"));
  EXPECT_THAT(ended.err, HasSubstr("training goes on without evaluations"));
  EXPECT_THAT(ended.last_state["finished"].value("reason", ""), HasSubstr("is not evaluated"));
}

TEST(StrangersModelTest, ATargetThatNobodyCanJudgeEndsTrainingWithItsModelWritten) {
  const TestFolder folder;
  const std::string manifest = Manifest(folder, std::string(kTupleOutput) + kFailingMetrics,
                                        "target: {metric: Accuracy, value: 0.99}");
  const Ended ended = RunToEnd(folder, manifest, {});
  EXPECT_EQ(ended.code, 1) << ended.err;
  ExpectWholeModel(ended);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("Accuracy >= 0.99"), HasSubstr("no metrics of so many")));
}

}  // namespace
}  // namespace paceline::integration
