// PodGroups on an API server that knows the kind, as each gang scheduler installs it: only the
// fields that we write, so that one that is misspelt is pruned and missed.

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "operator/controller/resources.h"
#include "tests/operator/job.h"

namespace paceline::operator_test {
namespace {

struct Scheduler {
  const char* flag;
  const char* group;
  const char* version;
  controller::GangScheduler kind;
};

void PrintTo(const Scheduler& scheduler, std::ostream* out) { *out << scheduler.flag; }

Json PodGroupDefinition(const Scheduler& scheduler) {
  const Json text = {{"type", "string"}}, number = {{"type", "integer"}};
  const Json quantities = {
      {"type", "object"},
      {"additionalProperties",
       {{"x-kubernetes-int-or-string", true}, {"pattern", "^[0-9.]+(m|Ki|Mi|Gi)?$"}}}};
  const Json spec = {{"type", "object"},
                     {"required", {"minMember"}},
                     {"properties",
                      {{"minMember", number},
                       {"minTaskMember", {{"type", "object"}, {"additionalProperties", number}}},
                       {"minResources", quantities},
                       {"queue", text},
                       {"priorityClassName", text},
                       {"scheduleTimeoutSeconds", number}}}};
  const Json schema = {{"type", "object"}, {"properties", {{"spec", spec}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata",
           {{"name", fmt::format("podgroups.{}", scheduler.group)},
            {"annotations", {{"api-approved.kubernetes.io", "unapproved, for a test"}}}}},
          {"spec",
           {{"group", scheduler.group},
            {"scope", "Namespaced"},
            {"names", {{"kind", "PodGroup"}, {"plural", "podgroups"}, {"singular", "podgroup"}}},
            {"versions", Json::array({{{"name", scheduler.version},
                                       {"served", true},
                                       {"storage", true},
                                       {"schema", {{"openAPIV3Schema", schema}}}}})}}}};
}

class GangTest : public ::testing::TestWithParam<Scheduler> {
 protected:
  void SetUp() override {
    world_ = World::Get();
    if (world_ == nullptr) GTEST_SKIP() << "no kube-apiserver and etcd";
    const std::string path = world_->server().folder() + "/podgroups.json";
    std::ofstream(path) << PodGroupDefinition(GetParam());
    world_->Kubectl("apply -f " + path);
    world_->Kubectl(fmt::format("wait --for=condition=Established crd/podgroups.{} --timeout=60s",
                                GetParam().group));
    operator_ = std::make_unique<OperatorProcess>(
        *world_, std::vector<std::string>{"--leader-elect=false",
                                          fmt::format("--gang-scheduler={}", GetParam().flag)});
    ASSERT_TRUE(operator_->WaitForText("leading")) << operator_->Log();
  }

  Json GroupOf(const Job& job) {
    const auto group =
        world_->client().Call(kube::Get(controller::PodGroups(GetParam().kind), job.key()));
    return group.ok() ? *group : Json();
  }

  World* world_ = nullptr;
  std::unique_ptr<OperatorProcess> operator_;
};

TEST_P(GangTest, AGroupOfTheRightSizeComesBeforeItsPodsAndFollowsTheJob) {
  const Json quantities = {{"cpu", 4}, {"memory", "8Gi"}};
  const Json policy = {
      {"minAvailable", 4}, {"minResources", quantities}, {"schedulerName", "volcano-of-ours"}};
  Job job(*world_, "digits", {{"runPolicy", {{"schedulingPolicy", policy}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const Json group = GroupOf(job);
  ASSERT_FALSE(group.is_null());
  EXPECT_EQ(group["spec"]["minMember"], 4);
  EXPECT_EQ(group["spec"]["minResources"], quantities);
  EXPECT_TRUE(job.WaitForCondition("GangScheduled"));
  EXPECT_TRUE(kube::IsControlledBy(group, kube::Uid(job.Get())));
  for (const auto& [name, pod] : job.Pods())
    EXPECT_LE(kube::StringAt(group, "/metadata/creationTimestamp"),
              kube::StringAt(pod, "/metadata/creationTimestamp"))
        << name;
  for (const auto& [name, pod] : job.Pods())
    EXPECT_EQ(kube::StringAt(pod, "/spec/schedulerName"), "volcano-of-ours") << name;

  job.Patch({{"spec", {{"runPolicy", {{"schedulingPolicy", {{"minAvailable", 5}}}}}}}});
  EXPECT_TRUE(Eventually([&] { return GroupOf(job)["spec"]["minMember"] == 5; })) << job.Describe();
}

TEST_P(GangTest, AGroupOfPodsHasWhatEachGroupOfWorkersNeeds) {
  const Json groups = Json::parse(R"([{"name": "big", "replicas": 2, "minReplicas": 2},
                                      {"name": "small", "replicas": 3}])");
  Job job(*world_, "digits",
          {{"workers", {{"replicas", nullptr}, {"groups", groups}}},
           {"runPolicy", {{"schedulingPolicy", {{"queue", "research"}}}}}});
  ASSERT_TRUE(job.WaitForPods({"digits-ps-0", "digits-ps-1", "digits-big-0", "digits-big-1",
                               "digits-small-0", "digits-small-1", "digits-small-2"}));
  const Json group = GroupOf(job);
  EXPECT_EQ(group["spec"]["minMember"], 5);
  if (GetParam().kind != controller::GangScheduler::kVolcano) return;
  EXPECT_EQ(group["spec"]["minTaskMember"], (Json{{"ps", 2}, {"big", 2}, {"small", 1}}));
  EXPECT_EQ(kube::Annotation(job.Pods().at("digits-small-2"), "volcano.sh/task-spec"), "small");
}

TEST_P(GangTest, AJobThatDoesNotAskHasNone) {
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  EXPECT_TRUE(GroupOf(job).is_null());
  EXPECT_EQ(job.Condition("GangScheduled"), "");
}

// Other jobs go on without it, and those that ask for it once it comes.
TEST(WithoutPodGroups, TheRestWorksAndTheMessageNamesTheApi) {
  World* const world = World::Get();
  if (world == nullptr) GTEST_SKIP() << "no kube-apiserver and etcd";
  const Scheduler volcano{"volcano", "scheduling.volcano.sh", "v1beta1",
                          controller::GangScheduler::kVolcano};
  const std::string name = fmt::format("podgroups.{}", volcano.group);
  const std::string remove = fmt::format("delete crd {} --ignore-not-found --timeout=60s", name);
  world->Kubectl(remove);
  OperatorProcess the_operator(*world, {"--leader-elect=false", "--gang-scheduler=volcano"});
  ASSERT_TRUE(the_operator.WaitForText("leading")) << the_operator.Log();
  Job plain(*world, "digits");
  EXPECT_TRUE(plain.WaitForPods(plain.AllPodNames())) << plain.Describe();
  Job gang(*world, "gang", {{"runPolicy", {{"schedulingPolicy", {{"queue", "research"}}}}}});
  EXPECT_TRUE(gang.WaitForMessage("ResourcesReady",
                                  "the API server does not serve podgroups.scheduling.volcano.sh"))
      << gang.Describe();
  EXPECT_TRUE(gang.Pods().empty());
  EXPECT_TRUE(the_operator.WaitForText("list podgroups.scheduling.volcano.sh"));

  const std::string path = world->server().folder() + "/volcano.json";
  std::ofstream(path) << PodGroupDefinition(volcano);
  world->Kubectl("apply -f " + path);
  EXPECT_TRUE(gang.WaitForPods(gang.AllPodNames())) << gang.Describe();

  world->Kubectl(remove);  // While it runs.
  Job later(*world, "later");
  EXPECT_TRUE(later.WaitForPods(later.AllPodNames())) << later.Describe();
  EXPECT_EQ(gang.Pods().size(), gang.AllPodNames().size());
}

// Half of such a job would wait for ever for a scheduler that is not there.
TEST(WithoutGangScheduler, AJobIsToldAndGivesWay) {
  World* const world = World::Get();
  if (world == nullptr) GTEST_SKIP() << "no kube-apiserver and etcd";
  OperatorProcess the_operator(*world, {"--leader-elect=false"});
  ASSERT_TRUE(the_operator.WaitForText("leading")) << the_operator.Log();
  const Json policy = {{"queue", "research"}, {"scheduleTimeoutSeconds", 3}};
  Job job(*world, "digits",
          {{"workers", {{"replicas", 2}, {"minReplicas", 2}}},
           {"runPolicy", {{"schedulingPolicy", policy}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  ASSERT_TRUE(job.WaitForCondition("GangScheduled", "False"));
  EXPECT_THAT(job.Message("GangScheduled"), ::testing::HasSubstr("--gang-scheduler"));
  EXPECT_TRUE(Eventually([&] {
    return job.Describe().find("NoGangScheduler") != std::string::npos &&
           world->Kubectl("get events -n " + job.name_space()).find("NoGangScheduler") !=
               std::string::npos;
  })) << job.Describe();
  for (const char* const name : {"digits-ps-0", "digits-ps-1", "digits-worker-0"}) job.Run(name);
  job.HasNoRoom("digits-worker-1");
  Job other(*world, "other");  // Who would have a use for the room.
  ASSERT_TRUE(other.WaitForPods(other.AllPodNames()));
  other.HasNoRoom("other-ps-0");
  EXPECT_TRUE(Eventually([&] { return kube::IntegerAt(job.Get(), "/status/gaveWay") >= 1; }, 60))
      << job.Describe();
}

INSTANTIATE_TEST_SUITE_P(Schedulers, GangTest,
                         ::testing::Values(Scheduler{"volcano", "scheduling.volcano.sh", "v1beta1",
                                                     controller::GangScheduler::kVolcano},
                                           Scheduler{"coscheduling", "scheduling.x-k8s.io",
                                                     "v1alpha1",
                                                     controller::GangScheduler::kCoscheduling}),
                         [](const auto& info) { return std::string(info.param.flag); });

}  // namespace
}  // namespace paceline::operator_test
