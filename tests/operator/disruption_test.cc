// A job that cannot recover keeps its parameter servers from being evicted, for as long as it has
// something to lose.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "tests/operator/one_operator.h"

namespace paceline::operator_test {
namespace {

class DisruptionTest : public OneOperator {
 protected:
  bool HasBudget(const Job& job) {
    return !Object(kube::PodDisruptionBudgets(), job, job.name() + "-ps").is_null();
  }
  Status Evict(const Job& job, const std::string& pod) {
    const Json eviction = {{"apiVersion", "policy/v1"},
                           {"kind", "Eviction"},
                           {"metadata", {{"name", pod}, {"namespace", job.name_space()}}}};
    kube::Request request = kube::Create(kube::Pods(), eviction, {.subresource = "eviction"});
    request.deadline = Seconds(5);  // Not to be told once more ten seconds later.
    return client().Call(std::move(request)).status();
  }
};

TEST_F(DisruptionTest, ServersOfAJobThatCannotRecoverAreNotEvictedUntilItIsOver) {
  Job job(*world_, "digits");
  Start(job);
  ASSERT_TRUE(job.WaitForCondition("Recoverable", "False"));
  ASSERT_TRUE(Eventually([&] { return HasBudget(job); })) << job.Describe();
  const auto pods = job.Pods();
  for (const char* pod : {"digits-ps-0", "digits-ps-1"}) {
    EXPECT_EQ(kube::StringAt(pods.at(pod), "/metadata/annotations/karpenter.sh~1do-not-disrupt"),
              "true");
    EXPECT_EQ(
        kube::StringAt(pods.at(pod),
                       "/metadata/annotations/cluster-autoscaler.kubernetes.io~1safe-to-evict"),
        "false");
    EXPECT_TRUE(kube::IsTooManyRequests(Evict(job, pod)));
  }
  EXPECT_FALSE(kube::IsTooManyRequests(Evict(job, "digits-worker-0")));
  job.End("digits-ps-0", 0);
  ASSERT_TRUE(job.WaitForCondition("Succeeded"));
  EXPECT_TRUE(Eventually([&] { return !HasBudget(job); })) << job.Describe();
}

TEST_F(DisruptionTest, ASuspendedJobHasNothingToLose) {
  Job job(*world_, "digits");
  Start(job);
  ASSERT_TRUE(Eventually([&] { return HasBudget(job); })) << job.Describe();
  job.Patch({{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  EXPECT_TRUE(Eventually([&] { return !HasBudget(job); })) << job.Describe();
  job.Patch({{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  EXPECT_TRUE(Eventually([&] { return HasBudget(job); })) << job.Describe();
}

TEST_F(DisruptionTest, AJobWithCheckpointsHasNoSuchBudget) {
  Job job(*world_, "digits",
          {{"checkpoint",
            {{"volumeClaimTemplate",
              {{"spec",
                {{"accessModes", {"ReadWriteOnce"}},
                 {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}}}}}});
  Start(job);
  ASSERT_TRUE(job.WaitForCondition("Recoverable"));
  EXPECT_FALSE(HasBudget(job));
  EXPECT_EQ(kube::StringAt(job.Pods().at("digits-ps-0"),
                           "/metadata/annotations/karpenter.sh~1do-not-disrupt"),
            "");
}

// It is a help, and no more.
TEST_F(DisruptionTest, ABudgetThatCannotBeMadeStopsNothing) {
  Job job(*world_, "digits", {{"runPolicy", {{"suspend", true}}}});
  ASSERT_TRUE(job.WaitForCondition("Suspended"));
  const Json foreign = {
      {"apiVersion", "policy/v1"},
      {"kind", "PodDisruptionBudget"},
      {"metadata", {{"name", "digits-ps"}, {"namespace", job.name_space()}}},
      {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"a", "b"}}}}}}}};
  ASSERT_TRUE(client().Call(kube::Create(kube::PodDisruptionBudgets(), foreign)).ok());
  job.Patch({{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "digits-ps"));
  EXPECT_NE(job.Message("ResourcesReady").find("belongs to somebody else"), std::string::npos);
  const std::string before = kube::Uid(job.Pods().at("digits-worker-1"));
  job.End("digits-worker-1", 1);
  EXPECT_TRUE(Eventually([&] {
    const auto pods = job.Pods();
    return pods.contains("digits-worker-1") && kube::Uid(pods.at("digits-worker-1")) != before;
  })) << job.Describe();
}

}  // namespace
}  // namespace paceline::operator_test
