#include "cli/commands/job_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::commands {
namespace {

using kube::Json;
using ::testing::HasSubstr;

// As the API server has it.
Json Stored() {
  return Json::parse(R"({
    "apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "research", "uid": "1-2", "generation": 3},
    "spec": {"model": {"torchScript": "cnn.pt"}, "data": {"train": "train.safetensors"},
             "training": {"globalBatchSize": 64, "learningRate": {"base": 0.05}, "stop": {"maxEpochs": 3}},
             "sync": {"scheme": "BSP"},
             "output": {"volume": {"emptyDir": {}}},
             "workers": {"replicas": 4, "maxReplicas": 8,
                         "template": {"spec": {"containers": [{"name": "worker"}, {"name": "b"}]}}}},
    "status": {"aFieldOfTomorrow": 1}})");
}

JobPatch Made(const std::vector<std::string>& overrides) {
  return MakeJobPatch(Stored(), overrides);
}

TEST(JobPatch, HoldsWhatChangesAndNothingElse) {
  const JobPatch made = Made({"sync.scheme=SSP", "spec.sync.ssp.staleness=2"});
  ASSERT_TRUE(made.errors.empty()) << job::ToString(made.errors[0]);
  EXPECT_EQ(made.patch,
            Json::parse(R"({"spec": {"sync": {"scheme": "SSP", "ssp": {"staleness": 2}}}})"));
  EXPECT_EQ(Made({"sync.scheme=BSP"}).patch, Json::object());
}

TEST(JobPatch, ReplacesWholeObjectsAndTakesFieldsAway) {
  Json suspended = Stored();
  suspended["spec"]["runPolicy"]["suspend"] = true;
  EXPECT_EQ(MakeJobPatch(suspended, {"output.volume={hostPath: {path: /models}}"}).patch,
            Json::parse(R"({"spec": {"output": {"volume": {
                "emptyDir": null, "hostPath": {"path": "/models"}}}}})"));
  EXPECT_EQ(Made({"workers.maxReplicas=null", "workers.replicas=2"}).patch,
            Json::parse(R"({"spec": {"workers": {"maxReplicas": null, "replicas": 2}}})"));
}

TEST(JobPatch, OfAListIsTheWholeList) {
  EXPECT_EQ(Made({"workers.template.spec.containers[1].image=b:2"})
                .patch.at("/spec/workers/template/spec/containers"_json_pointer),
            Json::parse(R"([{"name": "worker"}, {"name": "b", "image": "b:2"}])"));
}

TEST(JobPatch, SetsTimesAsTheyAreWritten) {
  EXPECT_EQ(Made({"runPolicy.activeDeadlineSeconds=1h30m", "runPolicy.nodeLostSeconds=90"}).patch,
            Json::parse(R"({"spec": {"runPolicy": {
                "activeDeadlineSeconds": "1h30m", "nodeLostSeconds": 90}}})"));
  const JobPatch refused = Made({"network.transferIdleSeconds=1.5"});
  ASSERT_EQ(refused.errors.size(), 1u);
  EXPECT_EQ(job::ToString(refused.errors[0]),
            "spec.network.transferIdleSeconds: must be whole seconds or a duration such as 1h30m, "
            "90s or 500ms: got 1.5; write 1.5s");
}

TEST(JobPatch, WhatIsWrongIsSaidByItsPath) {
  const auto error = [](const std::string& override) {
    const JobPatch made = Made({override});
    return made.errors.empty() ? "" : job::ToString(made.errors[0]);
  };
  EXPECT_THAT(error("sync.scheme=Ssp"), HasSubstr("spec.sync.scheme"));
  EXPECT_THAT(error("workers.replicas=9"), HasSubstr("spec.workers.maxReplicas"));
  EXPECT_THAT(error("sync.shceme=SSP"), HasSubstr("spec.sync.shceme"));
  EXPECT_THAT(error("metadata.labels.a=b"), HasSubstr("only spec can be set"));
  EXPECT_THAT(error("spec={}"), HasSubstr("only spec can be set"));
  EXPECT_THAT(error("sync.scheme="), HasSubstr("has no value"));
  EXPECT_THAT(error("training.seed=7"), HasSubstr("spec.training.seed: cannot change"));
}

TEST(BelowSpec, CompletesShortPathsOnly) {
  EXPECT_EQ(BelowSpec("sync.scheme=SSP"), "spec.sync.scheme=SSP");
  EXPECT_EQ(BelowSpec("spec.sync.scheme=SSP"), "spec.sync.scheme=SSP");
  EXPECT_EQ(BelowSpec("metadata.labels[\"a.b\"]=c"), "metadata.labels[\"a.b\"]=c");
  EXPECT_EQ(BelowSpec("special=1"), "spec.special=1");
}

}  // namespace
}  // namespace paceline::commands
