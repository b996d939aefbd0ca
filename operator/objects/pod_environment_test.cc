#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

// Of the node's cores, which the kubelet would name without a limit, most are not the container's.
TEST(PodTest, ThreadsAreTheCoresThatTheTemplateGives) {
  const auto cores = [](const std::string& resources) -> Json {
    job::TrainingJob job = Digits();
    job.spec.workers.pod_template =
        Yaml(fmt::format("spec: {{containers: [{{name: worker, resources: {}}}]}}", resources));
    const Json pod = Pod(job, job::Role::kWorker);
    const Json* const variable = Named(pod["spec"]["containers"][0]["env"], "OMP_NUM_THREADS");
    return variable == nullptr ? Json() : (*variable)["valueFrom"]["resourceFieldRef"]["resource"];
  };
  EXPECT_EQ(cores("{limits: {cpu: 4}, requests: {cpu: 2}}"), "limits.cpu");
  EXPECT_EQ(cores("{requests: {cpu: 2, memory: 1Gi}}"), "requests.cpu");
  EXPECT_EQ(cores("{requests: {memory: 1Gi}}"), Json());
  EXPECT_EQ(cores("{}"), Json());
}

}  // namespace
}  // namespace paceline::controller
