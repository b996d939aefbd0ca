// A job that is deleted and applied again, while what it left is still there. No garbage collector
// runs here: the test takes things away, one after the other.
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "operator/controller/resources.h"
#include "tests/operator/one_operator.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FormerTest : public OneOperator {
 protected:
  // With claims that go with it.
  static Json Spec() {
    Json spec = SmallSpec();
    spec["checkpoint"] = {{"volumeClaimTemplate",
                           {{"spec",
                             {{"accessModes", {"ReadWriteOnce"}},
                              {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}}},
                          {"persistentVolumeClaimRetentionPolicy", {{"whenDeleted", "Delete"}}}};
    return spec;
  }

  void Remove(const kube::Resource& resource, const Job& job, const std::string& name) {
    const auto gone = client().Call(
        kube::Delete(resource, {job.name_space(), name}, {.grace_period_seconds = 0}));
    EXPECT_TRUE(gone.ok()) << name << ": " << gone.status();
  }
  // While it has a finalizer it is Terminating, once it is deleted.
  void Keep(const kube::Resource& resource, const Job& job, const std::string& name,
            const Json& finalizers) {
    const auto kept = client().Call(kube::MergePatch(resource, {job.name_space(), name},
                                                     {{"metadata", {{"finalizers", finalizers}}}}));
    EXPECT_TRUE(kept.ok()) << name << ": " << kept.status();
  }
  // What it waits for, once that is no more than this.
  bool WaitsFor(const Job& job, const std::string& what) {
    return job.WaitForMessage("ResourcesReady",
                              "waits until what a former job of this name left is gone: " + what);
  }
  // Pods are taken away: the coordinator's and a worker's, which counts as restarts.
  void Disrupt(const Job& job) {
    const auto before = job.Pods();
    for (const char* const pod : {"digits-ps-0", "digits-worker-1"}) Remove(kube::Pods(), job, pod);
    ASSERT_TRUE(Eventually([&] {
      const auto now = job.Pods();
      return now.contains("digits-ps-0") && now.contains("digits-worker-1") &&
             kube::Uid(now.at("digits-ps-0")) != kube::Uid(before.at("digits-ps-0")) &&
             kube::Uid(now.at("digits-worker-1")) != kube::Uid(before.at("digits-worker-1"));
    })) << job.Describe();
    job.RunAll();
    ASSERT_TRUE(Eventually([&] {
      return kube::IntegerAt(job.Get(), "/status/restarts") >= 2 &&
             kube::IntegerAt(job.Get(), "/status/coordinatorStarts") == 2;
    })) << job.Describe();
  }
  void IsNew(const Job& job) {
    const Json status = job.Get()["status"];
    for (const char* const count : {"/restarts", "/failures", "/recovery/rollBacks"})
      EXPECT_EQ(kube::IntegerAt(status, count), 0) << count;
    EXPECT_EQ(kube::IntegerAt(status, "/coordinatorStarts"), 1);
    for (const auto& [name, pod] : job.Pods()) {
      EXPECT_EQ(kube::Annotation(pod, "paceline.dev/generation-start"), "1") << name;
      EXPECT_EQ(kube::Annotation(pod, "paceline.dev/attempt"), "0") << name;
      EXPECT_TRUE(kube::IsControlledBy(pod, kube::Uid(job.Get()))) << name;
    }
    const std::string of_it = world_->Kubectl(fmt::format(
        "get events -n {} -o 'jsonpath={{range .items[?(@.involvedObject.uid==\"{}\")]}}"
        "{{.reason}} {{end}}'",
        job.name_space(), kube::Uid(job.Get())));
    EXPECT_THAT(of_it, Not(HasSubstr("ProcessGone")));
    EXPECT_THAT(of_it, Not(HasSubstr("ProcessDisrupted")));
    EXPECT_THAT(of_it, Not(HasSubstr("RolledBack")));
  }
};

TEST_F(FormerTest, DeletedAndAppliedAgainItInheritsNothingAndSaysWhatItWaitsFor) {
  Job job(*world_, "digits", Spec());
  Start(job);
  Disrupt(job);
  Keep(kube::Pods(), job, "digits-worker-2", {"example.com/not-yet"});
  Keep(kube::Secrets(), job, "digits-token", {"example.com/not-yet"});
  const std::vector<std::string> claims = {"digits-checkpoint-0", "digits-checkpoint-1"};
  for (const std::string& claim : claims)
    Keep(kube::PersistentVolumeClaims(), job, claim, {"example.com/not-yet"});
  const std::string former = kube::Uid(job.Get());
  job.Delete();
  job.Create(Spec());
  ASSERT_NE(kube::Uid(job.Get()), former);
  ASSERT_TRUE(WaitsFor(job,
                       "pods digits-ps-0, digits-ps-1, digits-worker-0, digits-worker-1, "
                       "digits-worker-2; ConfigMap digits-job"));
  EXPECT_EQ(kube::StringAt(job.Get(), "/status/state"), "WaitsForFormerJob");
  EXPECT_THAT(world_->Kubectl("get events -n " + job.name_space()), HasSubstr("WaitsForFormerJob"));

  // Pods that go now are no loss of the new job's.
  for (const auto& [name, pod] : job.Pods()) Remove(kube::Pods(), job, name);
  ASSERT_TRUE(WaitsFor(job, "pods digits-worker-2; ConfigMap")) << job.Describe();
  Keep(kube::Pods(), job, "digits-worker-2", nullptr);
  ASSERT_TRUE(WaitsFor(job, "ConfigMap digits-job"));
  Remove(kube::Services(), job, "digits");
  Remove(kube::ConfigMaps(), job, "digits-job");
  Remove(kube::NetworkPolicies(), job, "digits");
  for (const char* const secret : {"digits-ps-tls-0", "digits-worker-tls-0", "digits-token"})
    Remove(kube::Secrets(), job, secret);
  ASSERT_TRUE(WaitsFor(job, "Secret digits-token; not running"));  // It is Terminating.
  EXPECT_TRUE(job.Pods().empty());
  Keep(kube::Secrets(), job, "digits-token", nullptr);
  ASSERT_TRUE(WaitsFor(job,
                       "PersistentVolumeClaim digits-checkpoint-0, PersistentVolumeClaim "
                       "digits-checkpoint-1; not running"));
  for (const std::string& claim : claims) Remove(kube::PersistentVolumeClaims(), job, claim);
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "being deleted is gone: claim"));
  EXPECT_TRUE(job.Pods().empty());
  for (const std::string& claim : claims) Keep(kube::PersistentVolumeClaims(), job, claim, nullptr);

  Start(job);
  IsNew(job);
}

// As it goes where a garbage collector is quick: the job never sees anything but its own.
TEST_F(FormerTest, WhatIsGoneBeforeTheNextJobComesIsNotSpokenOf) {
  Job job(*world_, "digits");
  Start(job);
  Disrupt(job);
  job.Delete();
  for (const auto& [name, pod] : job.Pods()) Remove(kube::Pods(), job, name);
  Remove(kube::Services(), job, "digits");
  Remove(kube::ConfigMaps(), job, "digits-job");
  Remove(kube::NetworkPolicies(), job, "digits");
  for (const char* const secret : {"digits-ps-tls-0", "digits-worker-tls-0", "digits-token"})
    Remove(kube::Secrets(), job, secret);
  job.Create(SmallSpec());
  Start(job);
  IsNew(job);
}

// As `kubectl delete --cascade=orphan` leaves them, and their pods are gone.
TEST_F(FormerTest, OrphanedChildrenAreAdopted) {
  Job job(*world_, "digits", {{"workers", {{"minReplicas", 2}}}});
  Start(job);
  operator_.reset();
  const std::vector<std::pair<kube::Resource, std::string>> children = {
      {kube::Services(), "digits"},         {kube::ConfigMaps(), "digits-job"},
      {kube::NetworkPolicies(), "digits"},  {kube::PodDisruptionBudgets(), "digits-workers"},
      {kube::Secrets(), "digits-ps-tls-0"}, {kube::Secrets(), "digits-worker-tls-0"},
      {kube::Secrets(), "digits-token"}};
  std::map<std::string, std::string> uids;
  const auto orphan = [&](const kube::Resource& resource, const std::string& name) {
    const auto orphaned = client().Call(kube::MergePatch(
        resource, {job.name_space(), name}, {{"metadata", {{"ownerReferences", nullptr}}}}));
    ASSERT_TRUE(orphaned.ok()) << name << ": " << orphaned.status();
    uids[resource.kind + name] = kube::Uid(*orphaned);
  };
  for (const auto& [resource, name] : children) orphan(resource, name);
  for (const auto& [name, pod] : job.Pods()) orphan(kube::Pods(), name);
  Json spec = job.Get()["spec"];
  job.Delete();
  job.Create(spec);
  StartOperator();
  // Pods of another life have its certificates and its orders: they are not taken over.
  ASSERT_TRUE(WaitsFor(job,
                       "pods that belong to nobody and have to be deleted: digits-ps-0, "
                       "digits-ps-1, digits-worker-0, digits-worker-1, digits-worker-2; not "
                       "running"));
  for (const auto& [name, pod] : job.Pods()) Remove(kube::Pods(), job, name);
  Start(job);
  IsNew(job);
  for (const auto& [resource, name] : children) {
    const Json child = Object(resource, job, name);
    EXPECT_EQ(kube::Uid(child), uids[resource.kind + name]) << resource.kind << " " << name;
    EXPECT_TRUE(kube::IsControlledBy(child, kube::Uid(job.Get()))) << resource.kind << " " << name;
  }
}

}  // namespace
}  // namespace paceline::operator_test
