#include "operator/objects/pods/image_nodes.h"

#include <gtest/gtest.h>

#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

Json PodSpec(const job::TrainingJob& job, job::Role role,
             const std::string& architecture = "amd64") {
  ObjectOptions options = kOptions;
  options.image_architecture = architecture;
  return BuildPod(job, StartOf(role, 0), options)["spec"];
}

job::TrainingJob WithWorkers(const std::string& template_yaml) {
  job::TrainingJob job = Digits();
  job.spec.workers.pod_template = Yaml(template_yaml);
  return job;
}

TEST(ImageNodes, OurImagesGoWhereTheyRun) {
  const Json expected = {{"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", "amd64"}};
  for (const job::Role role :
       {job::Role::kWorker, job::Role::kParameterServer, job::Role::kEvaluator})
    EXPECT_EQ(PodSpec(Digits(), role)["nodeSelector"], expected);
  const Json gpu = PodSpec(
      WithWorkers(
          "{spec: {containers: [{name: worker, resources: {limits: {nvidia.com/gpu: 1}}}]}}"),
      job::Role::kWorker);
  EXPECT_EQ(gpu["containers"][0]["image"], "cuda:1");
  EXPECT_EQ(gpu["nodeSelector"], expected);
  EXPECT_EQ(PodSpec(Digits(), job::Role::kWorker, "")["nodeSelector"],
            Json({{"kubernetes.io/os", "linux"}}));
}

TEST(ImageNodes, AnImageOfTheTemplatesGoesAnywhere) {
  const job::TrainingJob job =
      WithWorkers("{spec: {containers: [{name: worker, image: \"mine:1\"}]}}");
  EXPECT_FALSE(PodSpec(job, job::Role::kWorker).contains("nodeSelector"));
  EXPECT_TRUE(PodSpec(job, job::Role::kParameterServer).contains("nodeSelector"));
  job::TrainingJob script = job;
  script.spec.workers.command = {"python", "train.py"};
  EXPECT_FALSE(PodSpec(script, job::Role::kEvaluator).contains("nodeSelector"));
}

TEST(ImageNodes, WhatTheTemplateSaysOfItStays) {
  EXPECT_EQ(
      PodSpec(WithWorkers("{spec: {nodeSelector: {kubernetes.io/arch: arm64, pool: spot}}}"),
              job::Role::kWorker)["nodeSelector"],
      Json({{"kubernetes.io/arch", "arm64"}, {"pool", "spot"}, {"kubernetes.io/os", "linux"}}));
  const Json by_affinity = PodSpec(WithWorkers(R"(
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: pool, operator: Exists}]
        - matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64, amd64]}]
)"),
                                   job::Role::kWorker);
  EXPECT_EQ(by_affinity["nodeSelector"], Json({{"kubernetes.io/os", "linux"}}));
  EXPECT_FALSE(PodSpec(WithWorkers("{spec: {nodeName: node-1}}"), job::Role::kWorker)
                   .contains("nodeSelector"));
  // A preference is none against it.
  const Json preferred = PodSpec(WithWorkers(R"(
spec:
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, preference: {matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}}
)"),
                                 job::Role::kWorker);
  EXPECT_EQ(preferred["nodeSelector"]["kubernetes.io/arch"], "amd64");
}

TEST(ImageNodes, TheProgramKnowsItsOwnArchitecture) {
#if defined(__x86_64__)
  EXPECT_EQ(OwnArchitecture(), "amd64");
#elif defined(__aarch64__)
  EXPECT_EQ(OwnArchitecture(), "arm64");
#endif
}

}  // namespace
}  // namespace paceline::controller
