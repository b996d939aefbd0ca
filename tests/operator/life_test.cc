// What a TrainingJob goes through, against a real API server, with the operator as a process that
// has no more rights than its service account.

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "tests/operator/one_operator.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One operator for all jobs of a test, each of which has its own namespace.
class LifeTest : public OneOperator {};

constexpr const char* kSucceeded =
    R"({"phase":"over","step":30,"epoch":1,"epochProgress":1,"percent":100,"loss":0.25,)"
    R"("samplesPerSecond":100,"workers":[{"index":2,"isMember":true}],"epochs":[],)"
    R"("evaluation":{"accuracy":0.97,"loss":0.1},)"
    R"("finished":{"success":true,"reason":"last epoch"}})";

TEST_F(LifeTest, EverythingAJobNeedsIsMadeAndBelongsToIt) {
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  EXPECT_TRUE(job.WaitForCondition("Created"));
  EXPECT_EQ(job.Condition("Running"), "False");
  const std::string uid = kube::Uid(job.Get());
  const std::string space = job.name_space();
  const std::vector<std::pair<kube::Resource, std::string>> children = {
      {kube::Services(), "digits"},
      {kube::ConfigMaps(), "digits-job"},
      {kube::NetworkPolicies(), "digits"},
      {kube::Secrets(), "digits-ps-tls-0"},
      {kube::Secrets(), "digits-worker-tls-0"},
      {kube::Secrets(), "digits-token"},
      {kube::Pods(), "digits-ps-0"}};
  for (const auto& [resource, name] : children) {
    const Json child = Object(resource, {space, name});
    ASSERT_FALSE(child.is_null()) << resource.kind << " " << name;
    EXPECT_EQ(child["metadata"]["ownerReferences"][0]["uid"], uid) << name;
    EXPECT_EQ(child["metadata"]["ownerReferences"][0]["controller"], true) << name;
  }
  // No other Secret: the authority's key lies nowhere, what the operator shows to a coordinator
  // stays with the operator.
  const auto secrets = world_->client().ListAll(kube::Secrets(), {.name_space = space});
  ASSERT_TRUE(secrets.ok()) << secrets.status();
  EXPECT_EQ(secrets->items.size(), 3u);
}

TEST_F(LifeTest, SucceedsWithItsMetricAndCleansUp) {
  Job job(*world_, "digits");
  Start(job);
  job.End("digits-ps-0", 0, kSucceeded);
  ASSERT_TRUE(job.WaitForCondition("Succeeded"));
  EXPECT_TRUE(job.WaitForPods({"digits-ps-0"}));  // cleanPodPolicy Running keeps what has ended.
  const Json status = job.Get()["status"];
  EXPECT_EQ(status["state"], "Succeeded");
  EXPECT_EQ(status["progress"]["step"], 30);
  EXPECT_NEAR(status["progress"]["metric"].get<double>(), 0.97, 1e-9);
  EXPECT_FALSE(status["completionTime"].is_null());
  EXPECT_EQ(status["workers"][0]["name"], "digits-worker-2");
  EXPECT_EQ(status["workers"][0]["group"], "worker");
  EXPECT_EQ(status["workers"][0]["index"], 2);
  EXPECT_THAT(world_->Kubectl("get tj -n " + job.name_space()), HasSubstr("Succeeded"));
  world_->Kubectl(fmt::format("wait --for=condition=Succeeded tj/digits -n {} --timeout=10s",
                              job.name_space()));
}

// Numbers, templates, certificates and status of several groups, scaled one by one.
// Default-deny policies, or a strict mesh.
TEST_F(LifeTest, ACoordinatorThatCannotBeReachedIsSaid) {
  Job job(*world_, "digits");
  Start(job);  // Nothing listens at its address.
  EXPECT_TRUE(job.WaitForMessage("Degraded", "let the operator reach the job's coordinator", 60))
      << job.Describe();
  EXPECT_THAT(job.Message("Degraded"), HasSubstr("127.0.0.1:"));
  EXPECT_TRUE(Eventually([&] {
    return world_->Kubectl("get events -n " + job.name_space()).find("CoordinatorUnreachable") !=
           std::string::npos;
  }));
}

// A mesh's sidecar has no end of its own, and its pod would hold GPU and quota for ever.
TEST_F(LifeTest, PodsThatSidecarsKeepRunningGoOnceTheJobIsOver) {
  Job job(*world_, "digits");
  Start(job);
  job.EndBesideSidecar("digits-worker-0", 1);
  ASSERT_TRUE(Eventually([&] {
    const auto pods = job.Pods();
    const auto found = pods.find("digits-worker-0");
    return found != pods.end() && kube::Annotation(found->second, "paceline.dev/failures") == "1";
  })) << job.Describe()
      << ": one that failed is made anew all the same";
  job.RunAll();
  for (const std::string& pod : job.AllPodNames()) {
    if (pod != "digits-worker-1") job.EndBesideSidecar(pod, 0);
  }
  job.End("digits-worker-1", 0);
  ASSERT_TRUE(job.WaitForCondition("Succeeded")) << job.Describe();
  EXPECT_TRUE(job.WaitForPods({"digits-worker-1"})) << "its log is there to be read";
}

TEST_F(LifeTest, GroupsOfWorkersLiveSideBySide) {
  const Json groups = Json::parse(
      R"([{"name": "big", "replicas": 1, "template": {"spec": {"nodeSelector": {"pool": "a100"}}}},
          {"name": "small", "replicas": 2, "maxReplicas": 3}])");
  Job job(*world_, "digits", {{"workers", {{"replicas", nullptr}, {"groups", groups}}}});
  const std::vector<std::string> first = {"digits-ps-0", "digits-ps-1", "digits-big-0",
                                          "digits-small-0", "digits-small-1"};
  ASSERT_TRUE(job.WaitForPods(first)) << job.Describe();
  EXPECT_EQ(kube::StringAt(job.Pods().at("digits-big-0"), "/spec/nodeSelector/pool"), "a100");
  EXPECT_EQ(kube::StringAt(job.Pods().at("digits-small-0"), "/spec/nodeSelector/pool"), "");
  for (const char* const secret : {"digits-big-tls-0", "digits-small-tls-0"})
    EXPECT_FALSE(Object(kube::Secrets(), {job.name_space(), secret}).is_null()) << secret;
  job.RunAll();
  const auto counts = [&](size_t group) {
    const Json status = job.Get().value("status", Json::object());
    const Json groups_there = status.value("workerGroups", Json::array());
    if (group >= groups_there.size()) return std::string();
    const Json& one = groups_there[group];
    return fmt::format("{} {}/{}", one.value("name", ""), one.value("ready", 0),
                       one.value("replicas", 0));
  };
  EXPECT_TRUE(Eventually([&] { return counts(0) == "big 1/1" && counts(1) == "small 2/2"; }))
      << job.Describe();

  const std::string uid = kube::Uid(job.Pods().at("digits-small-1"));
  Json changed = groups;
  changed[1]["replicas"] = 3;
  changed[0]["replicas"] = 0;
  changed.push_back({{"name", "late"}});
  job.Patch({{"spec", {{"workers", {{"groups", changed}}}}}});
  ASSERT_TRUE(job.WaitForPods({"digits-ps-0", "digits-ps-1", "digits-small-0", "digits-small-1",
                               "digits-small-2", "digits-late-0"}))
      << job.Describe();
  EXPECT_EQ(kube::Uid(job.Pods().at("digits-small-1")), uid);
  EXPECT_FALSE(Object(kube::Secrets(), {job.name_space(), "digits-late-tls-0"}).is_null());

  const testing::Said refusal =
      world_->TryKubectl(fmt::format("scale tj/digits -n {} --replicas=6", job.name_space()));
  EXPECT_NE(refusal.code, 0);
  EXPECT_THAT(refusal.text, HasSubstr("set groups[].replicas of each"));
  changed.erase(changed.begin());
  job.Patch({{"spec", {{"workers", {{"groups", changed}}}}}});
  EXPECT_TRUE(Eventually([&] { return counts(0) == "small 2/3"; })) << job.Describe();
}

TEST_F(LifeTest, AFailedWorkerIsStartedAgainAndTold) {
  Job job(*world_, "digits");
  Start(job);
  const std::string before = kube::Uid(job.Pods().at("digits-worker-1"));
  job.End("digits-worker-1", 1, "cannot allocate");
  ASSERT_TRUE(Eventually([&] {
    const auto pods = job.Pods();
    return pods.contains("digits-worker-1") && kube::Uid(pods.at("digits-worker-1")) != before;
  })) << job.Describe();
  EXPECT_EQ(kube::Annotation(job.Pods().at("digits-worker-1"), "paceline.dev/attempt"), "1");
  EXPECT_EQ(kube::Annotation(job.Pods().at("digits-worker-1"), "paceline.dev/failures"), "1");
  EXPECT_TRUE(Eventually([&] {
    return world_->Kubectl("get events -n " + job.name_space()).find("cannot allocate") !=
           std::string::npos;
  }));
}

TEST_F(LifeTest, MoreFailuresThanBackoffLimitFailTheJob) {
  Job job(*world_, "digits", {{"runPolicy", {{"backoffLimit", 0}}}});
  Start(job);
  job.End("digits-worker-2", 1, "no such tensor");
  ASSERT_TRUE(job.WaitForCondition("Failed"));
  EXPECT_THAT(job.Message("Failed"), HasSubstr("no such tensor"));
  EXPECT_THAT(job.Message("Failed"), HasSubstr("digits-worker-2"));
  EXPECT_TRUE(job.WaitForPods({"digits-worker-2"}));
}

// As the kubelet kills a container whose liveness probe fails.
TEST_F(LifeTest, AKillThatNobodyAnnouncedIsAFailure) {
  Job job(*world_, "digits", {{"runPolicy", {{"backoffLimit", 0}}}});
  Start(job);
  job.End("digits-worker-2", 137, "", "Error");
  ASSERT_TRUE(job.WaitForCondition("Failed"));
  EXPECT_THAT(job.Message("Failed"), HasSubstr("digits-worker-2"));
}

TEST_F(LifeTest, DeletedEvictedAndRejectedPodsComeBackAndCountForNothing) {
  Job job(*world_, "digits", {{"runPolicy", {{"backoffLimit", 0}}}});
  Start(job);
  const auto before = job.Pods();
  world_->Kubectl(fmt::format("delete pod digits-worker-0 -n {} --wait=false", job.name_space()));
  job.Target("digits-worker-1");
  job.End("digits-worker-1", 143, "", "Error");
  job.NotAdmit("digits-worker-2");
  ASSERT_TRUE(Eventually([&] {
    const auto pods = job.Pods();
    return pods.size() == before.size() &&
           std::ranges::all_of(
               std::vector<std::string>{"digits-worker-0", "digits-worker-1", "digits-worker-2"},
               [&](const std::string& name) {
                 return kube::Uid(pods.at(name)) != kube::Uid(before.at(name));
               });
  })) << job.Describe();
  EXPECT_NE(job.Condition("Failed"), "True");
  EXPECT_EQ(kube::IntegerAt(job.Get(), "/status/failures"), 0);
}

TEST_F(LifeTest, ScalesBothWaysWithoutTouchingTheOthers) {
  Job job(*world_, "digits", {{"workers", {{"replicas", 4}, {"maxReplicas", 6}}}});
  Start(job);
  const auto before = job.Pods();
  world_->Kubectl(fmt::format("scale tj/digits -n {} --replicas=6", job.name_space()));
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  EXPECT_TRUE(Eventually([&] { return kube::IntegerAt(job.Get(), "/status/replicas") == 6; }));
  world_->Kubectl(fmt::format("scale tj/digits -n {} --replicas=2", job.name_space()));
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  for (const auto& [name, pod] : job.Pods())
    EXPECT_EQ(kube::Uid(pod), kube::Uid(before.at(name))) << name;
}

TEST_F(LifeTest, SuspendsAndResumes) {
  Job job(*world_, "digits");
  Start(job);
  job.Patch({{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  ASSERT_TRUE(job.WaitForCondition("Suspended"));
  ASSERT_TRUE(job.WaitForPods({}));
  EXPECT_EQ(job.Get()["status"]["state"], "Suspended");
  job.Patch({{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  ASSERT_TRUE(job.WaitForCondition("Suspended", "False"));
  EXPECT_NE(job.Get()["status"]["state"], "Suspended");
}

TEST_F(LifeTest, CreatedSuspendedStartsNothing) {
  Job job(*world_, "digits", {{"runPolicy", {{"suspend", true}}}});
  ASSERT_TRUE(job.WaitForCondition("Suspended"));
  EXPECT_TRUE(job.Pods().empty());
}

// A finalizer keeps the job until it is seen when it was deleted, and how.
TEST_F(LifeTest, TtlRemovesTheJobToTheSecond) {
  constexpr std::chrono::seconds kTtl(5), kLate(2);
  Job job(*world_, "digits", {{"runPolicy", {{"ttlSecondsAfterFinished", kTtl.count()}}}});
  Start(job);
  const Json finalizers = {"example.com/keep"};
  job.Patch({{"metadata", {{"finalizers", finalizers}}}});
  job.End("digits-ps-0", 0, kSucceeded);
  Json last;
  ASSERT_TRUE(Eventually(
      [&] {
        last = job.Get();
        return kube::IsBeingDeleted(last);
      },
      60))
      << job.Describe();
  const auto finished = ParseTime(kube::StringAt(last, "/status/completionTime"));
  const auto deleted = ParseTime(kube::StringAt(last, "/metadata/deletionTimestamp"));
  ASSERT_TRUE(finished && deleted) << last;
  EXPECT_GE(*deleted, *finished + kTtl);
  EXPECT_LE(*deleted, *finished + kTtl + kLate);
  EXPECT_EQ(last["metadata"]["finalizers"], finalizers) << "what stays would be orphaned";
}

// With all that a job can have, and the real controllers that take it away.
TEST_F(LifeTest, TtlRemovesTheJobAndNothingStays) {
  const Status started = world_->server().StartControllers(
      "garbage-collector-controller,persistentvolumeclaim-protection-controller");
  if (kube::testing::MaySkip(started)) GTEST_SKIP() << started;
  ASSERT_TRUE(started.ok()) << started;
  const Json claim = {
      {"spec",
       {{"accessModes", {"ReadWriteOnce"}}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
  Job job(*world_, "digits",
          {{"runPolicy", {{"ttlSecondsAfterFinished", 1}, {"cleanPodPolicy", "None"}}},
           {"workers", {{"minReplicas", 2}}},
           {"checkpoint",
            {{"volumeClaimTemplate", claim},
             {"persistentVolumeClaimRetentionPolicy", {{"whenDeleted", "Delete"}}}}}});
  Start(job);
  const auto there = [&](const std::string& kinds) {
    return world_->Kubectl(
        fmt::format("get {} -n {} -o name --ignore-not-found", kinds, job.name_space()));
  };
  const std::string theirs =
      "pods,services,configmaps,secrets,networkpolicies,poddisruptionbudgets,"
      "persistentvolumeclaims";
  EXPECT_EQ(std::ranges::count(there(theirs), '\n'), 5 + 1 + 1 + 3 + 1 + 1 + 2) << there(theirs);
  std::string kinds = world_->Kubectl(
      "api-resources --namespaced --verbs=list -o name | grep -vE '^(events|endpoints)'");
  kinds.pop_back();
  std::ranges::replace(kinds, '\n', ',');
  job.End("digits-ps-0", 0, kSucceeded);
  EXPECT_TRUE(Eventually([&] { return there(kinds).empty(); }, 60, std::chrono::milliseconds(500)))
      << there(kinds);
  world_->server().StopControllers();
}

TEST_F(LifeTest, AForeignPodOfThatNameIsLeftAloneAndNamed) {
  World& world = *world_;
  const std::string space = "foreign";
  world.Kubectl("create namespace " + space);
  world.Kubectl(
      fmt::format("run digits-worker-0 -n {} --image=x "
                  "--labels=paceline.dev/job=digits,app.kubernetes.io/managed-by=paceline-operator,"
                  "paceline.dev/role=worker,paceline.dev/index=0",
                  space));
  const std::string before = kube::Uid(Object(kube::Pods(), {space, "digits-worker-0"}));
  const Json job = {{"apiVersion", "paceline.dev/v1alpha1"},
                    {"kind", "TrainingJob"},
                    {"metadata", {{"name", "digits"}, {"namespace", space}}},
                    {"spec", Job(world, "other").Get()["spec"]}};
  ASSERT_TRUE(client().Call(kube::Create(controller::TrainingJobs(), job)).ok());
  EXPECT_TRUE(Eventually([&] {
    const Json seen = Object(controller::TrainingJobs(), {space, "digits"});
    return seen.value("status", Json()).dump().find("belongs to somebody else") !=
           std::string::npos;
  }));
  const Json pod = Object(kube::Pods(), {space, "digits-worker-0"});
  EXPECT_EQ(kube::Uid(pod), before);
  EXPECT_FALSE(pod["metadata"].contains("ownerReferences"));
}

TEST_F(LifeTest, JobsOfAnotherManagerAreNotTouched) {
  Job job(*world_, "theirs", {{"runPolicy", {{"managedBy", "example.com/kueue"}}}});
  Job ours(*world_, "ours");
  ASSERT_TRUE(ours.WaitForPods(ours.AllPodNames()));  // The operator has been here by now.
  EXPECT_TRUE(job.Pods().empty());
  EXPECT_TRUE(job.Get()["status"].is_null());
}

// Kueue keeps what is deleted until it has counted it.
TEST_F(LifeTest, ADeletedPodThatAFinalizerKeepsIsReplacedOnceItIsGone) {
  Job job(*world_, "digits");
  Start(job);
  const std::string before = kube::Uid(job.Pods().at("digits-worker-1"));
  const auto uid_now = [&] {
    const auto pods = job.Pods();
    return pods.contains("digits-worker-1") ? kube::Uid(pods.at("digits-worker-1")) : "";
  };
  const auto keep = [&](const std::string& finalizers) {
    world_->Kubectl(
        fmt::format("patch pod digits-worker-1 -n {} --type=merge -p "
                    R"('{{"metadata": {{"finalizers": {}}}}}')",
                    job.name_space(), finalizers));
  };
  keep(R"(["kueue.x-k8s.io/managed"])");
  world_->Kubectl(fmt::format("delete pod digits-worker-1 -n {} --wait=false", job.name_space()));
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady", "False"));
  EXPECT_EQ(uid_now(), before);
  keep("null");
  EXPECT_TRUE(Eventually([&] { return !uid_now().empty() && uid_now() != before; }))
      << job.Describe();
  EXPECT_NE(job.Condition("Failed"), "True");
  EXPECT_EQ(kube::IntegerAt(job.Get(), "/status/failures"), 0);
}

TEST_F(LifeTest, ATemplateThatNoPodCanBeMadeOfIsToldInACondition) {
  const auto limit = [](const char* cpu) {
    return Json{
        {"template",
         {{"spec",
           {{"containers",
             Json::array({{{"name", "worker"}, {"resources", {{"limits", {{"cpu", cpu}}}}}}})}}}}}};
  };
  Job job(*world_, "digits", {{"workers", limit("a lot")}});
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "quantities must match"));
  EXPECT_EQ(job.Condition("ResourcesReady"), "False");
  job.Patch({{"spec", {{"workers", limit("1")}}}});
  EXPECT_TRUE(job.WaitForPods(job.AllPodNames()));
}

// The schema leaves templates open, and an API server that is not asked drops what it does not
// know.
TEST_F(LifeTest, AFieldThatNoPodHasIsToldInACondition) {
  const auto worker = [](const Json& container) {
    Json named = container;
    named["name"] = "worker";
    return Json{{"template", {{"spec", {{"containers", Json::array({named})}}}}}};
  };
  Job job(*world_, "digits", {{"workers", worker({{"imagePullPolcy", "Always"}})}});
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "imagePullPolcy"));
  EXPECT_TRUE(job.WaitForMessage("ResourcesReady", "spec.workers.template: "));
  EXPECT_EQ(job.Condition("ResourcesReady"), "False");
  EXPECT_TRUE(job.Pods().empty()) << "nothing starts before all can";
  job.Patch({{"spec", {{"workers", worker({{"resources", {{"limit", {{"cpu", "1"}}}}}})}}}});
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "resources.limit"));
  job.Patch({{"spec", {{"workers", worker({{"resources", {{"limits", {{"cpu", "1"}}}}}})}}}});
  EXPECT_TRUE(job.WaitForPods(job.AllPodNames()));
}

TEST_F(LifeTest, DeletedServiceAndChangedConfigMapAreMended) {
  Job job(*world_, "digits");
  Start(job);
  world_->Kubectl(fmt::format("delete service digits -n {}", job.name_space()));
  EXPECT_TRUE(Eventually([&] {
    return !Object(kube::Services(), {job.name_space(), "digits"}).is_null();
  }));
  job.Patch({{"spec", {{"sync", {{"scheme", "SSP"}}}}}});
  EXPECT_TRUE(Eventually([&] {
    const Json map = Object(kube::ConfigMaps(), {job.name_space(), "digits-job"});
    return kube::StringAt(map, "/data/job.json").find("SSP") != std::string::npos;
  }));
}

TEST_F(LifeTest, NamesAtTheLengthLimitWork) {
  Job job(*world_, std::string(50, 'a'));
  EXPECT_TRUE(job.WaitForPods(job.AllPodNames()));
}

}  // namespace
}  // namespace paceline::operator_test
