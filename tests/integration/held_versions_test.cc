// Workers that compute on a version where the shards have published it, and models that write to
// it.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/testing/scripts.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPlain = R"(
def forward(self, inputs):
    return torch.matmul(torch.relu(torch.matmul(inputs.flatten(1), self.first)), self.last)
)";
// Behind PyTorch's back, and not in each step.
constexpr const char* kWriting = R"(
def forward(self, inputs):
    if self.training:
        self.steps.add_(1)
        if int(self.steps) % 3 == 0:
            self.first.data.clamp_(-0.02, 0.02)
    return torch.matmul(torch.relu(torch.matmul(inputs.flatten(1), self.first)), self.last)
)";

// Parameters of 2 MB. Deterministic, so that what bytes travel through changes no bit.
Ended Train(const TestFolder& folder, const std::string& script, const std::string& transport,
            std::string& log) {
  using learn::testing::ScriptKind;
  learn::testing::SaveScript(folder.path() + "/model.pt",
                             {{.name = "first", .shape = {64, 8192}, .value = 0.01},
                              {.name = "last", .shape = {8192, 10}, .value = 0.01},
                              {.name = "steps", .kind = ScriptKind::kBuffer, .type = "long"}},
                             script);
  const std::string manifest =
      folder.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{torchScript: model.pt, loss: CrossEntropy}}
  data: {{train: {}/deploy/samples/digits/train.safetensors}}
  training:
    globalBatchSize: 64
    optimizer: {{type: SGD, sgd: {{momentum: 0.9}}}}
    learningRate: {{base: 0.05}}
    stop: {{maxSteps: 30}}
    deterministic: true
  sync: {{scheme: BSP}}
  parameterServer: {{shards: 2}}
  workers: {{replicas: 2}}
  network: {{transport: {}}}
)",
                                           InSource(), transport));
  LiveRun run(folder, manifest, {});
  Ended ended = run.Wait(200);
  log = run.LogOf("worker-0") + run.LogOf("worker-1");
  return ended;
}

class HeldVersionsTest : public ::testing::TestWithParam<bool> {};

TEST_P(HeldVersionsTest, TrainsToTheSameBitsAsWithCopies) {
  const bool is_writing = GetParam();
  const char* const script = is_writing ? kWriting : kPlain;
  const TestFolder there, copied;
  std::string log_there, log_copied;
  const Ended held = Train(there, script, "Auto", log_there);
  const Ended pulled = Train(copied, script, "Sockets", log_copied);
  ASSERT_EQ(held.code, 0) << held.err;
  ASSERT_EQ(pulled.code, 0) << pulled.err;
  const auto model = ReadModel(held.summary["model"]);
  ASSERT_EQ(model.size(), 3u);
  EXPECT_EQ(model, ReadModel(pulled.summary["model"]));
  EXPECT_THAT(log_there, HasSubstr("through shared memory"));
  const bool is_told = log_there.find("the model writes to its own parameters") != log_there.npos;
  EXPECT_EQ(is_told, is_writing) << log_there;
}

INSTANTIATE_TEST_SUITE_P(All, HeldVersionsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Writing" : "Plain"; });

}  // namespace
}  // namespace paceline::integration
