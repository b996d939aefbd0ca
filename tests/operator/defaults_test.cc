// What the pods of all jobs begin with, by --pod-defaults, and what null in a template takes away
// of it.
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/json_text.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "tests/operator/one_operator.h"
#include "tests/operator/writes.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;

class DefaultsTest : public OneOperator {
 protected:
  std::string FileOf(const std::string& defaults) {
    const std::string path = world_->server().folder() + "/pod-defaults.yaml";
    std::ofstream(path) << defaults;
    return path;
  }
  // In the place of the operator that runs.
  void StartWith(const std::string& defaults) {
    operator_.reset();
    operator_ = std::make_unique<OperatorProcess>(
        *world_,
        std::vector<std::string>{"--leader-elect=false", "--pod-defaults=" + FileOf(defaults)});
    ASSERT_TRUE(operator_->WaitForText("leading")) << operator_->Log();
  }
  static std::string TeamOf(const std::string& name) {
    return fmt::format(R"(
all:
  labels: {{team: {0}}}
  nodeSelector: {{pool: {0}}}
  securityContext: {{runAsUser: null, runAsGroup: null, fsGroup: null}}
workers: {{resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
)",
                       name);
  }
  Json Child(const Job& job, const kube::Resource& resource, const std::string& name) {
    return Object(resource, job, name);
  }
  // Of each object that the job has, by kind and name.
  std::map<std::string, std::string> Teams(const Job& job) {
    std::map<std::string, std::string> teams;
    const std::vector<std::pair<kube::Resource, std::string>> children = {
        {kube::Services(), "digits"},
        {kube::ConfigMaps(), "digits-job"},
        {kube::NetworkPolicies(), "digits"},
        {kube::PodDisruptionBudgets(), "digits-workers"},
        {kube::Secrets(), "digits-token"},
        {kube::Secrets(), "digits-ps-tls-0"},
        {kube::PersistentVolumeClaims(), "digits-checkpoint-1"}};
    for (const auto& [resource, name] : children)
      teams[resource.kind + " " + name] = kube::Label(Object(resource, job, name), "team");
    return teams;
  }
  bool WaitForTeams(const Job& job, const std::string& team) {
    return Eventually([&] {
      for (const auto& [object, label] : Teams(job)) {
        if (label != team) return false;
      }
      return true;
    });
  }
  static std::string PoolOf(const Json& pod) {
    return kube::StringAt(pod, "/spec/nodeSelector/pool");
  }
  // Of what is made in the place of a worker that ends now.
  Json NextWorker(const Job& job) {
    const std::string before = kube::Uid(job.Pods().at("digits-worker-1"));
    job.End("digits-worker-1", 1);
    Json next;
    EXPECT_TRUE(Eventually([&] {
      const auto pods = job.Pods();
      const auto found = pods.find("digits-worker-1");
      if (found == pods.end() || kube::Uid(found->second) == before) return false;
      next = found->second;
      return true;
    })) << job.Describe();
    job.RunAll();
    return next;
  }
  void SuspendAndResume(const Job& job) {
    job.Patch({{"spec", {{"runPolicy", {{"suspend", true}}}}}});
    ASSERT_TRUE(job.WaitForCondition("Suspended"));
    ASSERT_TRUE(job.WaitForPods({}));
    job.Patch({{"spec", {{"runPolicy", {{"suspend", false}}}}}});
    ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  }
  static Json SpecWithClaims() {
    return Json::parse(R"({
      "workers": {"minReplicas": 2},
      "checkpoint": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
                                                      "resources": {"requests": {"storage": "1Gi"}}}}}
    })");
  }
};

TEST_F(DefaultsTest, AJobKeepsThoseOfItsFirstStartUntilItIsSuspended) {
  StartWith(TeamOf("a"));
  Job job(*world_, "digits", SpecWithClaims());
  Start(job);
  EXPECT_TRUE(WaitForTeams(job, "a")) << Json(Teams(job));
  for (const auto& [name, pod] : job.Pods()) {
    EXPECT_EQ(kube::Label(pod, "team"), "a") << name;
    EXPECT_EQ(PoolOf(pod), "a") << name;
    const Json& security = pod["spec"]["securityContext"];
    for (const char* const id : {"runAsUser", "runAsGroup", "fsGroup"})
      EXPECT_FALSE(security.contains(id)) << name;
    EXPECT_EQ(security["runAsNonRoot"], true) << name;
  }
  // The device that it asks for by default, and that it is told to compute on.
  const std::string worker = JsonText(job.Pods().at("digits-worker-0"));
  EXPECT_THAT(worker, HasSubstr(R"("--device","cuda")"));

  StartWith(TeamOf("b"));
  Job other(*world_, "digits", SpecWithClaims());
  Start(other);
  EXPECT_EQ(PoolOf(other.Pods().at("digits-worker-0")), "b");
  EXPECT_EQ(PoolOf(NextWorker(job)), "a");
  EXPECT_TRUE(WaitForTeams(job, "a")) << Json(Teams(job));

  SuspendAndResume(job);
  for (const auto& [name, pod] : job.Pods()) EXPECT_EQ(PoolOf(pod), "b") << name;
  // Claims that are there are taken as they are.
  EXPECT_TRUE(Eventually([&] {
    auto teams = Teams(job);
    teams.erase("PersistentVolumeClaim digits-checkpoint-1");
    return std::all_of(teams.begin(), teams.end(),
                       [](const auto& one) { return one.second == "b"; });
  })) << Json(Teams(job));
}

// Of a version that knew no defaults, or begun by an operator that had none.
TEST_F(DefaultsTest, AJobFromBeforeHasNoneUntilItIsSuspended) {
  Job job(*world_, "digits");
  Start(job);
  const Writes writes(world_->server().audit_log());
  ASSERT_TRUE(writes.WaitForQuiet(60));
  const std::string version = kube::ResourceVersion(Child(job, kube::ConfigMaps(), "digits-job"));
  StartWith(TeamOf("a"));
  const Json next = NextWorker(job);
  EXPECT_EQ(PoolOf(next), "");
  EXPECT_EQ(next["spec"]["securityContext"]["runAsUser"], 65532);
  EXPECT_EQ(kube::ResourceVersion(Child(job, kube::ConfigMaps(), "digits-job")), version);
  SuspendAndResume(job);
  for (const auto& [name, pod] : job.Pods()) EXPECT_EQ(PoolOf(pod), "a") << name;
}

// A policy engine's value stays; what is recorded comes back.
TEST_F(DefaultsTest, NothingIsFoughtOver) {
  StartWith(TeamOf("a"));
  Job job(*world_, "digits");
  Start(job);
  const auto edit = [&](const kube::Resource& resource, const std::string& name,
                        const Json& patch) {
    const auto edited = client().Call(kube::MergePatch(resource, {job.name_space(), name}, patch));
    ASSERT_TRUE(edited.ok()) << edited.status();
  };
  edit(kube::Services(), "digits", {{"metadata", {{"labels", {{"team", "theirs"}}}}}});
  edit(kube::ConfigMaps(), "digits-job",
       {{"metadata",
         {{"annotations", {{"paceline.dev/pod-defaults", "{\"all\": {\"labels\": 3}}"}}}}}});
  EXPECT_TRUE(Eventually([&] {
    return kube::Annotation(Child(job, kube::ConfigMaps(), "digits-job"),
                            "paceline.dev/pod-defaults")
               .find(R"("team":"a")") != std::string::npos;
  }));
  NextWorker(job);  // All of the job has been looked at.
  EXPECT_EQ(kube::Label(Child(job, kube::Services(), "digits"), "team"), "theirs");
}

TEST_F(DefaultsTest, WhatCannotBeADefaultIsSaidByPathAndEndsTheOperator) {
  operator_.reset();
  const std::string file = FileOf("all: {labels: {paceline.dev/job: mine}, nodeSelector: [a]}");
  OperatorProcess refusing(*world_, {"--leader-elect=false", "--pod-defaults=" + file});
  EXPECT_EQ(refusing.WaitForEnd(20), 2);
  EXPECT_THAT(refusing.Log(), HasSubstr("paceline.dev/job"));
  EXPECT_THAT(refusing.Log(), HasSubstr("all.nodeSelector: must be an object"));
  OperatorProcess lost(*world_, {"--leader-elect=false", "--pod-defaults=/none/there"});
  EXPECT_EQ(lost.WaitForEnd(20), 2);
  EXPECT_THAT(lost.Log(), HasSubstr("--pod-defaults cannot be read: /none/there"));
}

// A value that no pod may have keeps a job from starting, and it says whose it is.
TEST_F(DefaultsTest, ADefaultThatThisClusterRefusesIsSaid) {
  StartWith("all: {tolerations: [{key: a, operator: Is}]}");
  Job job(*world_, "digits");
  EXPECT_TRUE(job.WaitForMessage("ResourcesReady", "with the operator's --pod-defaults: "));
  StartWith("{}");
  EXPECT_TRUE(job.WaitForPods(job.AllPodNames()));  // It has begun nothing.
}

// The API server keeps a null of a template. What `kubectl apply` without --server-side, or a merge
// patch, makes of one is no null any more.
TEST_F(DefaultsTest, ANullOfATemplateReachesThePod) {
  const std::string name_space = world_->NewNamespace();
  const Json none = {{"runAsUser", nullptr}, {"runAsGroup", nullptr}, {"fsGroup", nullptr}};
  for (const std::string how : {"create", "apply --server-side"}) {
    const std::string name = how == "create" ? "created" : "applied";
    Json job = {{"apiVersion", "paceline.dev/v1alpha1"},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", name}, {"namespace", name_space}}},
                {"spec", SmallSpec()}};
    job["spec"]["workers"]["template"]["spec"]["securityContext"] = none;
    const std::string path = fmt::format("{}/{}.json", world_->server().folder(), name);
    std::ofstream(path) << JsonText(job);
    world_->Kubectl(fmt::format("{} -f {}", how, path));
    Json pod;
    EXPECT_TRUE(Eventually([&] {
      pod = Object(kube::Pods(), {name_space, name + "-worker-0"});
      return !pod.is_null();
    })) << how;
    for (const auto& [id, null] : none.items())
      EXPECT_FALSE(pod["spec"]["securityContext"].contains(id)) << how << id;
    EXPECT_EQ(
        Object(kube::Pods(), {name_space, name + "-ps-0"})["spec"]["securityContext"]["fsGroup"],
        65532)
        << how;
  }
}

}  // namespace
}  // namespace paceline::operator_test
