#include "lib/job/state/device.h"

#include <gtest/gtest.h>

#include "lib/job/manifest/load.h"

namespace paceline::job {
namespace {

JobSpec Spec(const std::string& workers, const std::string& evaluator = "") {
  const std::string text = R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: t}
spec:
  model: {builtIn: Softmax, inputShape: [1, 8, 8], classes: 10, loss: CrossEntropy}
  data: {train: a.safetensors, eval: b.safetensors}
  training: {globalBatchSize: 64, optimizer: {type: SGD}, learningRate: {base: 0.1}, stop: {maxSteps: 1}}
  workers: {)" + workers + "}\n  evaluator: {" +
                           evaluator + "}\n";
  const Decoded loaded = LoadJob(text, {}, Capabilities::All());
  EXPECT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
  return loaded.job.spec;
}

std::string Template(const std::string& name, const std::string& resources) {
  return "template: {spec: {containers: [{name: sidecar}, {name: " + name + ", resources: {" +
         resources + "}}]}}";
}

TEST(DeviceTest, FollowsTheTemplateUnlessItIsNamed) {
  const struct {
    std::string workers;
    Computes device;
    bool is_by_name;
    const char* why;
  } cases[] = {
      {"", Computes::kCpu, false, ""},
      {"device: CUDA", Computes::kCuda, true, "spec.workers.device is CUDA"},
      {"device: CPU, " + Template("worker", "limits: {nvidia.com/gpu: 1}"), Computes::kCpu, true,
       "spec.workers.device is CPU"},
      {Template("worker", "limits: {nvidia.com/gpu: 1}"), Computes::kCuda, false,
       "spec.workers.template asks for nvidia.com/gpu"},
      {Template("worker", "requests: {nvidia.com/gpu: \"2\"}"), Computes::kCuda, false,
       "spec.workers.template asks for nvidia.com/gpu"},
      {Template("worker", "limits: {cpu: 2, nvidia.com/mig-1g.10gb: 1}"), Computes::kCuda, false,
       "spec.workers.template asks for nvidia.com/mig-1g.10gb"},
      {Template("worker", "limits: {nvidia.com/gpu.shared: 1}"), Computes::kCuda, false,
       "spec.workers.template asks for nvidia.com/gpu.shared"},
      {Template("worker", "limits: {nvidia.com/gpu: 0}"), Computes::kCpu, false, ""},
      {Template("worker", "limits: {nvidia.com/gpu: \"0\"}"), Computes::kCpu, false, ""},
      {Template("worker", "limits: {amd.com/gpu: 1}"), Computes::kCpu, false, ""},
      {Template("helper", "limits: {nvidia.com/gpu: 1}"), Computes::kCpu, false, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.workers);
    const DeviceChoice choice = DeviceOf(Spec(c.workers), Role::kWorker);
    EXPECT_EQ(choice.device, c.device);
    EXPECT_EQ(choice.is_by_name, c.is_by_name);
    EXPECT_EQ(choice.why, c.why);
  }
}

TEST(DeviceTest, TheEvaluatorFollowsItsOwnTemplate) {
  const std::string gpu = Template("evaluator", "limits: {nvidia.com/gpu: 1}");
  EXPECT_EQ(DeviceOf(Spec("device: CPU", gpu), Role::kEvaluator).device, Computes::kCuda);
  EXPECT_EQ(DeviceOf(Spec("device: CUDA"), Role::kEvaluator).device, Computes::kCpu);
  EXPECT_EQ(DeviceOf(Spec("device: CUDA", gpu), Role::kParameterServer).device, Computes::kCpu);
}

}  // namespace
}  // namespace paceline::job
