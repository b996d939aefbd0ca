#include "lib/job/state/device.h"

#include <gmock/gmock.h>
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
      // What may be a GPU that CUDA can use.
      {Template("worker", "claims: [{name: gpu}]"), Computes::kCudaIfUsable, false,
       "spec.workers.template has resource claim gpu"},
      {Template("worker", "claims: [{name: gpu, request: one}], limits: {nvidia.com/gpu: 1}"),
       Computes::kCuda, false, "spec.workers.template asks for nvidia.com/gpu"},
      {Template("worker", "limits: {amd.com/gpu: 1}"), Computes::kCudaIfUsable, false,
       "spec.workers.template asks for amd.com/gpu"},
      {Template("worker", "limits: {volcano.sh/vGPU-number: 1}"), Computes::kCudaIfUsable, false,
       "spec.workers.template asks for volcano.sh/vGPU-number"},
      {Template("worker", "requests: {nvidia.com/a100: 1}"), Computes::kCudaIfUsable, false,
       "spec.workers.template asks for nvidia.com/a100"},
      {Template("worker", "limits: {deviceclass.resource.kubernetes.io/large: 1}"),
       Computes::kCudaIfUsable, false,
       "spec.workers.template asks for deviceclass.resource.kubernetes.io/large"},
      {Template("worker", "limits: {rdma/hca: 1, gpu.intel.com/i915: 1}"), Computes::kCudaIfUsable,
       false, "spec.workers.template asks for gpu.intel.com/i915"},
      {"device: CPU, " + Template("worker", "claims: [{name: nic}]"), Computes::kCpu, true,
       "spec.workers.device is CPU"},
      {"device: CUDA, " + Template("worker", "claims: [{name: gpu}]"), Computes::kCuda, true,
       "spec.workers.device is CUDA"},
      // What is none.
      {Template("worker", "limits: {google.com/tpu: 4}"), Computes::kCpu, false,
       "spec.workers.template asks for google.com/tpu"},
      {Template("worker", "limits: {cpu: 4, memory: 1Gi, hugepages-2Mi: 4Mi}"), Computes::kCpu,
       false, ""},
      {Template("worker", "limits: {scheduling.kubernetes.io/x: 1}"), Computes::kCpu, false, ""},
      {Template("worker", "limits: {google.com/tpu: 0}"), Computes::kCpu, false, ""},
      {Template("worker", "claims: []"), Computes::kCpu, false, ""},
      {Template("helper", "claims: [{name: gpu}]"), Computes::kCpu, false, ""},
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

TEST(DeviceTest, WhatMayNotBeComputedOnIsSaid) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(
      DeviceNotes(Spec(Template("worker", "claims: [{name: gpu}]"),
                       Template("evaluator", "limits: {amd.com/gpu: 1}"))),
      ElementsAre("spec.workers.template has resource claim gpu: computed on it if it is a GPU "
                  "that CUDA can use, else on the CPU (spec.workers.device: CUDA insists on one, "
                  "CPU wants none)",
                  "spec.evaluator.template asks for amd.com/gpu: computed on it if it is a GPU "
                  "that CUDA can use, else on the CPU"));
  EXPECT_THAT(DeviceNotes(Spec(Template("worker", "limits: {google.com/tpu: 4}"))),
              ElementsAre("spec.workers.template asks for google.com/tpu, and nothing of "
                          "Paceline's computes on that: computed on the CPU (spec.workers.device: "
                          "CPU says that this is meant)"));
  for (const std::string& silent :
       {std::string(), Template("worker", "limits: {nvidia.com/gpu: 1}"),
        "device: CPU, " + Template("worker", "claims: [{name: nic}]"),
        "device: CUDA, " + Template("worker", "claims: [{name: gpu}]")})
    EXPECT_THAT(DeviceNotes(Spec(silent)), IsEmpty()) << silent;
}

}  // namespace
}  // namespace paceline::job
