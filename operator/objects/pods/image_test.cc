#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

// Roles of one job may differ, and a template's own image goes before all.
TEST(ImageTest, WhoComputesOnAGpuGetsTheImageForIt) {
  const auto image = [](const job::TrainingJob& job, job::Role role) {
    return std::string(Pod(job, role)["spec"]["containers"][0]["image"]);
  };
  job::TrainingJob job = Digits();
  EXPECT_EQ(image(job, job::Role::kWorker), "worker:1");
  const job::Node asking = Yaml(R"(
spec: {containers: [{name: worker, resources: {limits: {nvidia.com/gpu: 1}}}]}
)");
  job.spec.workers.pod_template = asking;
  EXPECT_EQ(image(job, job::Role::kWorker), "cuda:1");
  EXPECT_EQ(image(job, job::Role::kEvaluator), "worker:1");
  EXPECT_EQ(image(job, job::Role::kParameterServer), "ps:1");
  for (const char* const resources : {"claims: [{name: gpu}]", "limits: {amd.com/gpu: 1}"}) {
    job.spec.workers.pod_template =
        Yaml(fmt::format("spec: {{containers: [{{name: worker, resources: {{{}}}}}]}}", resources));
    EXPECT_EQ(image(job, job::Role::kWorker), "cuda:1") << resources;  // It tries.
  }
  job.spec.workers.device = job::Device::kCpu;
  EXPECT_EQ(image(job, job::Role::kWorker), "worker:1");
  job.spec.workers.device = job::Device::kCuda;
  job.spec.workers.pod_template = {};
  EXPECT_EQ(image(job, job::Role::kWorker), "cuda:1");
  job.spec.workers.pod_template = Yaml("spec: {containers: [{name: worker, image: \"mine:2\"}]}");
  EXPECT_EQ(image(job, job::Role::kWorker), "mine:2");

  // Where there is none of its own, the workers' image is one for both.
  job.spec.workers.pod_template = asking;
  const Json pod = BuildPod(job, StartOf(job::Role::kWorker, 0),
                            {.server_image = "ps:1", .worker_image = "both:1"});
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "both:1");
}

}  // namespace
}  // namespace paceline::controller
