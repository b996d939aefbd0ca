#include "operator/objects/pods/disruption.h"

#include <string>

#include <gtest/gtest.h>

#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

constexpr const char* kKarpenter = "karpenter.sh/do-not-disrupt";
constexpr const char* kAutoscaler = "cluster-autoscaler.kubernetes.io/safe-to-evict";

job::TrainingJob WithoutCheckpoints() {
  job::TrainingJob job = Digits();
  job.spec.checkpoint.reset();
  job.status.remembered = job::Remembered{.no_checkpoints = "NoVolume"};
  return job;
}

TEST(Disruption, ServersThatCannotComeBackAskToStay) {
  const job::TrainingJob job = WithoutCheckpoints();
  for (const int64_t index : {0, 1}) {
    const Json annotations =
        Pod(job, job::Role::kParameterServer, index)["metadata"]["annotations"];
    EXPECT_EQ(annotations[kKarpenter], "true");
    EXPECT_EQ(annotations[kAutoscaler], "false");
  }
  for (const job::Role role : {job::Role::kWorker, job::Role::kEvaluator})
    EXPECT_FALSE(Pod(job, role)["metadata"]["annotations"].contains(kKarpenter));
}

TEST(Disruption, WhatTheTemplateSaysStays) {
  job::TrainingJob job = WithoutCheckpoints();
  job.spec.parameter_server.pod_template =
      Yaml("{metadata: {annotations: {karpenter.sh/do-not-disrupt: \"false\"}}}");
  const Json annotations = Pod(job, job::Role::kParameterServer)["metadata"]["annotations"];
  EXPECT_EQ(annotations[kKarpenter], "false");
  EXPECT_EQ(annotations[kAutoscaler], "false");
}

TEST(Disruption, WhereThereAreCheckpointsServersMayGo) {
  job::TrainingJob job = Digits();
  job.spec.checkpoint.emplace();
  job.spec.checkpoint->volume_claim_template = Yaml("{spec: {accessModes: [ReadWriteOnce]}}");
  EXPECT_FALSE(
      Pod(job, job::Role::kParameterServer)["metadata"]["annotations"].contains(kKarpenter));
  EXPECT_FALSE(BuildServersBudget(job).budget.has_value());
}

TEST(Disruption, TheBudgetStandsWhileThereIsSomethingToLose) {
  job::TrainingJob job = WithoutCheckpoints();
  const BudgetOfGroup servers = BuildServersBudget(job);
  EXPECT_EQ(servers.name, "digits-ps");
  ASSERT_TRUE(servers.budget.has_value());
  EXPECT_EQ(
      (*servers.budget)["spec"],
      (Json{{"minAvailable", 2},
            {"selector",
             {{"matchLabels", {{"paceline.dev/job", "digits"}, {"paceline.dev/role", "ps"}}}}}}));
  job.spec.run_policy.suspend = true;
  EXPECT_FALSE(BuildServersBudget(job).budget.has_value());
  job.spec.run_policy.suspend = false;
  for (const job::ConditionType end :
       {job::ConditionType::kSucceeded, job::ConditionType::kFailed}) {
    job.status.conditions = {{.type = end, .status = job::ConditionStatus::kTrue}};
    EXPECT_FALSE(BuildServersBudget(job).budget.has_value());
  }
  job.status = {};  // Nothing is known yet.
  EXPECT_FALSE(BuildServersBudget(job).budget.has_value());
}

}  // namespace
}  // namespace paceline::controller
