// Jobs whose workers compute in reduced precision.
#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/testing/scripts.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kEpochs = 4;
constexpr double kFirstScale = 65536;

// A softmax of the digits. Inputs are so large that gradients overflow in Float16 until the loss
// scale is a fourth or less of the first one; what is learnt does not depend on it.
std::string Manifest(const TestFolder& folder) {
  learn::testing::SaveScript(folder.path() + "/model.pt", {{.name = "weight", .shape = {64, 10}}},
                             R"(
def forward(self, inputs):
    return torch.matmul(64 * inputs.flatten(1), self.weight)
)");
  return folder.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{torchScript: model.pt, loss: CrossEntropy}}
  data:
    train: {0}/deploy/samples/digits/train.safetensors
    eval: {0}/deploy/samples/digits/test.safetensors
  training:
    globalBatchSize: 64
    optimizer: {{type: SGD}}
    learningRate: {{base: 0.0001}}
    stop: {{maxEpochs: {1}}}
    seed: 1
  sync: {{scheme: BSP}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 2}}
  evaluator: {{}}
)",
                                              InSource(), kEpochs));
}

class PrecisionTest : public ::testing::Test {
 protected:
  Ended Train(const std::vector<std::string>& overrides) {
    LiveRun run(folder_, Manifest(folder_), Sets(overrides));
    Ended ended = run.Wait(100);
    log_ = run.LogOf("ps-0");
    return ended;
  }

  const TestFolder folder_;
  std::string log_;  // The coordinator's.
};

struct Case {
  std::string scheme, precision;
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.scheme << one.precision; }
};

class PrecisionSchemeTest : public PrecisionTest, public ::testing::WithParamInterface<Case> {};

// Overflows cost steps, and nobody a strike: no sample is lost, no worker or sample blamed.
TEST_P(PrecisionSchemeTest, JobsLearnAndOverflowsAreNobodysFault) {
  const Case& c = GetParam();
  const Ended ended =
      Train({"spec.sync.scheme=" + c.scheme, "spec.training.precision=" + c.precision});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.summary["succeeded"], true);
  EXPECT_GE(ended.summary["accuracy"].get<double>(), 0.85);
  const Json& state = ended.last_state;
  ExpectEverySampleOnce(state, kEpochs);
  for (const char* count : {"nonFinitePushes", "rollBacks", "poisonedSamples"})
    EXPECT_EQ(state[count], 0) << count << "\n" << log_;
  uint64_t overflows = 0;
  ASSERT_EQ(state["workers"].size(), 2u);
  for (const Json& worker : state["workers"]) {
    EXPECT_EQ(worker["expulsions"], 0) << worker;
    EXPECT_EQ(worker["incarnation"], 1) << worker;
    overflows += worker["overflows"].get<uint64_t>();
    if (c.precision == "Float16") {
      // Each has a scale of its own, that has found its place.
      EXPECT_GE(worker["overflows"], 2) << worker;
      EXPECT_LE(worker["lossScale"], kFirstScale / 4) << worker;
      EXPECT_GT(worker["lossScale"], 0) << worker;
    } else {
      EXPECT_EQ(worker["overflows"], 0) << worker;
      EXPECT_EQ(worker["lossScale"], 0) << worker;
    }
  }
  EXPECT_EQ(ended.summary["overflows"], overflows);
}

INSTANTIATE_TEST_SUITE_P(All, PrecisionSchemeTest,
                         ::testing::Values(Case{"BSP", "BFloat16"}, Case{"BSP", "Float16"},
                                           Case{"WBSP", "BFloat16"}, Case{"WBSP", "Float16"},
                                           Case{"PSPlus", "Float16"}),
                         [](const auto& info) { return info.param.scheme + info.param.precision; });

// The manifest's word reaches the workers: numbers are others, and of the same size.
TEST_F(PrecisionTest, WorkersComputeInWhatTheManifestSays) {
  std::map<std::string, std::map<std::string, std::vector<std::byte>>> models;
  for (const std::string precision : {"Float32", "BFloat16", "Float16"}) {
    const Ended ended = Train({"spec.training.deterministic=true", "spec.training.stop.maxEpochs=1",
                               "spec.training.precision=" + precision});
    ASSERT_EQ(ended.code, 0) << ended.err;
    models[precision] = ReadModel(ended.summary["model"]);
    const double difference = LargestDifference(models["Float32"], models[precision]);
    EXPECT_EQ(difference > 0, precision != "Float32") << precision;
    EXPECT_LT(difference, 0.01) << precision;
  }
}

}  // namespace
}  // namespace paceline::integration
