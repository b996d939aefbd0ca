// Somebody takes or changes the labels of what is a job's: the operator finds it all the same, says
// so once, and has it as it was.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "tests/operator/one_operator.h"
#include "tests/operator/writes.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kManager = "app.kubernetes.io/managed-by";
constexpr const char* kJob = "paceline.dev/job";
constexpr const char* kRole = "paceline.dev/role";
constexpr const char* kIndex = "paceline.dev/index";

class LabelsTest : public OneOperator {
 protected:
  // `value`: null takes the label away.
  void Label(const kube::Resource& resource, const Job& job, const std::string& name,
             const char* label, const Json& value) {
    Edit(resource, job, name, {{"metadata", {{"labels", {{label, value}}}}}});
  }
  void Edit(const kube::Resource& resource, const Job& job, const std::string& name,
            const Json& patch) {
    const auto edited = client().Call(kube::MergePatch(resource, {job.name_space(), name}, patch));
    ASSERT_TRUE(edited.ok()) << name << ": " << edited.status();
  }
  void Remove(const Job& job, const std::string& pod) {
    const auto gone = client().Call(
        kube::Delete(kube::Pods(), {job.name_space(), pod}, {.grace_period_seconds = 0}));
    EXPECT_TRUE(gone.ok()) << pod << ": " << gone.status();
  }
  // Its pods by their names, whatever labels they have.
  std::map<std::string, Json> AllPods(const Job& job) {
    std::map<std::string, Json> pods;
    const auto list = client().ListAll(kube::Pods(), {.name_space = job.name_space()});
    EXPECT_TRUE(list.ok()) << list.status();
    if (!list.ok()) return pods;
    for (const Json& pod : list->items) pods[kube::Name(pod)] = pod;
    return pods;
  }
  bool WaitForAnother(const Job& job, const Json& pod) {
    return Eventually([&] {
      const auto pods = AllPods(job);
      const auto found = pods.find(kube::Name(pod));
      return found != pods.end() && kube::Uid(found->second) != kube::Uid(pod);
    });
  }
  // What was told of the job for that reason, each as often as it was.
  std::vector<std::string> Told(const Job& job, const std::string& reason) {
    const kube::Resource events{
        .group = "events.k8s.io", .version = "v1", .kind = "Event", .plural = "events"};
    std::vector<std::string> told;
    const auto list = client().ListAll(events, {.name_space = job.name_space()});
    EXPECT_TRUE(list.ok()) << list.status();
    if (!list.ok()) return told;
    for (const Json& event : list->items) {
      if (kube::StringAt(event, "/reason") != reason) continue;
      const int64_t count = std::max<int64_t>(1, kube::IntegerAt(event, "/series/count"));
      told.insert(told.end(), static_cast<size_t>(count), kube::StringAt(event, "/note"));
    }
    return told;
  }
  bool WaitUntilTold(const Job& job, const std::string& reason, const std::string& part) {
    return Eventually([&] {
      const auto told = Told(job, reason);
      return std::any_of(told.begin(), told.end(), [&](const std::string& note) {
        return note.find(part) != std::string::npos;
      });
    });
  }
  // Takes its ownerReferences, and more.
  void Disown(const Job& job, const std::string& pod, const Json& labels) {
    Edit(kube::Pods(), job, pod,
         {{"metadata", {{"ownerReferences", nullptr}, {"labels", labels}}}});
  }
};

// But for its pods and Secrets, of a job with minReplicas.
std::vector<std::pair<kube::Resource, std::string>> ChildrenOfDigits() {
  return {{kube::Services(), "digits"},
          {kube::ConfigMaps(), "digits-job"},
          {kube::NetworkPolicies(), "digits"},
          {kube::PodDisruptionBudgets(), "digits-workers"}};
}

// Each kind of change to a pod that runs, at once.
TEST_F(LabelsTest, APodIsToldOfOnceAndMadeAnew) {
  Job job(*world_, "digits", {{"workers", {{"replicas", 4}}}});
  Start(job);
  const auto before = AllPods(job);
  struct Change {
    const char* pod;
    const char* label;
    Json value;
    const char* told;
  };
  const std::vector<Change> changes = {
      {"digits-worker-0", kJob, nullptr, "label paceline.dev/job is gone"},
      {"digits-worker-1", kRole, nullptr, "label paceline.dev/role is gone"},
      // Another's seat.
      {"digits-worker-2", kIndex, "3", "label paceline.dev/index is 3 instead of 2"},
      {"digits-worker-3", kJob, "figures", "label paceline.dev/job is figures instead of digits"},
      {"digits-ps-1", kRole, "worker", "label paceline.dev/role is worker instead of ps"},
  };
  for (const Change& change : changes)
    Label(kube::Pods(), job, change.pod, change.label, change.value);
  for (const Change& change : changes) {
    ASSERT_TRUE(WaitForAnother(job, before.at(change.pod))) << change.pod << job.Describe();
    const Json pod = AllPods(job).at(change.pod);
    EXPECT_EQ(pod["metadata"]["labels"], before.at(change.pod)["metadata"]["labels"]);
    // Who comes knows what was before.
    EXPECT_EQ(kube::Annotation(pod, "paceline.dev/attempt"), "1") << change.pod;
    EXPECT_EQ(kube::Annotation(pod, "paceline.dev/disruptions"), "1") << change.pod;
    EXPECT_TRUE(WaitUntilTold(
        job, "LabelsChanged",
        fmt::format("pod {}: {}; it is deleted and made anew", change.pod, change.told)))
        << change.pod;
  }
  EXPECT_THAT(Told(job, "LabelsChanged"), SizeIs(changes.size()));
  EXPECT_EQ(kube::Uid(AllPods(job).at("digits-ps-0")), kube::Uid(before.at("digits-ps-0")));
}

// It is asked to end and may take its time, and the operator may change meanwhile.
TEST_F(LabelsTest, APodThatIsOnItsWayOutIsWaitedForWithoutAnotherWord) {
  Job job(*world_, "digits");
  Start(job);
  const Json before = AllPods(job).at("digits-worker-1");
  Edit(kube::Pods(), job, "digits-worker-1", {{"metadata", {{"finalizers", {"example.com/x"}}}}});
  const Writes writes(world_->server().audit_log());
  const size_t from = writes.LinesSoFar();
  Label(kube::Pods(), job, "digits-worker-1", kJob, nullptr);
  ASSERT_TRUE(Eventually([&] { return kube::IsBeingDeleted(AllPods(job).at("digits-worker-1")); }))
      << job.Describe();
  EXPECT_TRUE(job.WaitForMessage("ResourcesReady", "digits-worker-1 is stopping"));
  operator_.reset();
  StartOperator();
  // The next operator has looked at all of the job.
  job.Patch({{"spec", {{"workers", {{"replicas", 4}}}}}});
  ASSERT_TRUE(Eventually([&] { return AllPods(job).contains("digits-worker-3"); }));
  EXPECT_TRUE(job.WaitForMessage("ResourcesReady", "digits-worker-1 is stopping"));
  EXPECT_EQ(kube::Uid(AllPods(job).at("digits-worker-1")), kube::Uid(before));
  int deletions = 0;
  for (const std::string& write : writes.Since(from)) deletions += write.starts_with("delete");
  EXPECT_EQ(deletions, 1);
  EXPECT_THAT(Told(job, "LabelsChanged"), SizeIs(1));

  Edit(kube::Pods(), job, "digits-worker-1", {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_TRUE(WaitForAnother(job, before)) << job.Describe();
  EXPECT_THAT(Told(job, "LabelsChanged"), SizeIs(1));
}

// What happened while no operator ran, to several jobs.
TEST_F(LabelsTest, TheNextOperatorFindsThemToo) {
  Job gone(*world_, "gone"), other(*world_, "other"), unwritten(*world_, "unwritten");
  for (Job* const job : {&gone, &other, &unwritten}) Start(*job);
  operator_->Signal(SIGKILL);
  ASSERT_TRUE(operator_->WaitForEnd(10).has_value());
  // Two that are over, which only their coordinators say.
  gone.End("gone-ps-0", 0);
  Label(kube::Pods(), gone, "gone-ps-0", kJob, nullptr);
  other.End("other-ps-0", 0);
  Label(kube::Pods(), other, "other-ps-0", kRole, "worker");
  // One whose first status was not written.
  Label(kube::Pods(), unwritten, "unwritten-worker-1", kJob, nullptr);
  world_->Kubectl(fmt::format("patch tj -n {} unwritten --subresource=status --type=merge -p '{}'",
                              unwritten.name_space(), R"({"status": null})"));
  for (const char* const secret : {"unwritten-token", "unwritten-worker-tls-0"})
    Label(kube::Secrets(), unwritten, secret, kJob, nullptr);
  const auto pods_of_gone = AllPods(gone), pods_of_other = AllPods(other);
  const Json worker = AllPods(unwritten).at("unwritten-worker-1");
  StartOperator();

  for (const char* const secret : {"unwritten-token", "unwritten-worker-tls-0"}) {
    EXPECT_TRUE(Eventually([&] {
      return kube::Label(Object(kube::Secrets(), unwritten, secret), kJob) == "unwritten";
    })) << secret;
  }
  for (const auto& [job, before] : {std::pair(&gone, &pods_of_gone), {&other, &pods_of_other}}) {
    const std::string name = job->name() + "-ps-0";
    ASSERT_TRUE(job->WaitForCondition("Succeeded"));
    EXPECT_EQ(kube::IntegerAt(job->Get(), "/status/coordinatorStarts"), 1) << name;
    EXPECT_TRUE(WaitUntilTold(*job, "LabelsChanged", "it has ended, and counts as it did"));
    EXPECT_THAT(Told(*job, "LabelsChanged"), SizeIs(1));
    // cleanPodPolicy Running keeps what has ended.
    ASSERT_TRUE(Eventually([&] { return AllPods(*job).size() == 1; })) << job->Describe();
    EXPECT_EQ(kube::Uid(AllPods(*job).at(name)), kube::Uid(before->at(name)));
  }
  EXPECT_TRUE(WaitForAnother(unwritten, worker)) << unwritten.Describe();
  EXPECT_THAT(Told(unwritten, "LabelsChanged"), SizeIs(1));
}

// Told once, and asked for less and less.
TEST_F(LabelsTest, WhatIsNobodysOrSomebodyElsesIsLeftAlone) {
  Job job(*world_, "digits");
  Start(job);
  const auto before = AllPods(job);
  Disown(job, "digits-worker-2", Json::object());
  EXPECT_TRUE(job.WaitForMessage("ResourcesReady",
                                 "pods that belong to nobody and have to be deleted: "
                                 "digits-worker-2"));
  Remove(job, "digits-worker-2");
  ASSERT_TRUE(WaitForAnother(job, before.at("digits-worker-2"))) << job.Describe();
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));

  const Writes writes(world_->server().audit_log());
  const size_t from = writes.LinesSoFar();
  Disown(job, "digits-ps-0", {{kJob, nullptr}});
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "digits-ps-0 is there and belongs to somebody"));
  EXPECT_TRUE(Eventually([&] { return writes.PodsAskedFor(from) >= 7; }, 60));
  EXPECT_LE(writes.PodsAskedFor(from), 9u);
  int status_writes = 0, events = 0;
  for (const std::string& write : writes.Since(from)) {
    status_writes += write.find("/status") != std::string::npos;
    events += write.find("/events") != std::string::npos;
    EXPECT_FALSE(write.starts_with("delete")) << write;
  }
  EXPECT_LE(status_writes, 5);
  EXPECT_LE(events, 6);
  EXPECT_EQ(kube::IntegerAt(job.Get(), "/status/coordinatorStarts"), 2);
  EXPECT_EQ(kube::Uid(AllPods(job).at("digits-ps-0")), kube::Uid(before.at("digits-ps-0")));
  EXPECT_THAT(Told(job, "ResourcesRefused"), SizeIs(1));
  Remove(job, "digits-ps-0");
  EXPECT_TRUE(WaitForAnother(job, before.at("digits-ps-0"))) << job.Describe();
}

// A policy engine does so with all that is made: nothing ends for it, and nothing is written back.
TEST_F(LabelsTest, WhoeverManagesByALabelThatToolsShareIsLetAlone) {
  Job job(*world_, "digits", {{"workers", {{"minReplicas", 2}}}});
  Start(job);
  const auto before = AllPods(job);
  const auto children = ChildrenOfDigits();
  const Writes writes(world_->server().audit_log());
  ASSERT_TRUE(writes.WaitForQuiet(60));
  for (const auto& [name, pod] : before) Label(kube::Pods(), job, name, kManager, "Kustomize");
  for (const auto& [resource, name] : children) Label(resource, job, name, kManager, "Kustomize");
  for (const bool is_another : {false, true}) {
    if (is_another) {
      operator_.reset();
      StartOperator();
    }
    // All of the job is looked at.
    job.End("digits-worker-2", 1);
    ASSERT_TRUE(Eventually([&] {
      const auto pods = AllPods(job);
      const auto found = pods.find("digits-worker-2");
      return found != pods.end() &&
             kube::Annotation(found->second, "paceline.dev/failures") == (is_another ? "2" : "1");
    })) << job.Describe();
    for (const auto& [name, pod] : AllPods(job)) {
      if (name == "digits-worker-2") continue;
      EXPECT_EQ(kube::Uid(pod), kube::Uid(before.at(name))) << name;
    }
    for (const auto& [resource, name] : children)
      EXPECT_EQ(kube::Label(Object(resource, job, name), kManager), "Kustomize") << resource.kind;
    job.RunAll();
  }
  EXPECT_THAT(Told(job, "LabelsChanged"), SizeIs(0));
  EXPECT_EQ(kube::IntegerAt(job.Get(), "/status/coordinatorStarts"), 1);
}

// It is no reason to end what runs.
TEST_F(LabelsTest, ALostAnnotationIsToldOfAndThePodStays) {
  Job job(*world_, "digits");
  Start(job);
  const auto before = AllPods(job);
  Edit(kube::Pods(), job, "digits-worker-1",
       {{"metadata", {{"annotations", {{"paceline.dev/failures", nullptr}}}}}});
  EXPECT_TRUE(WaitUntilTold(job, "LabelsChanged",
                            "pod digits-worker-1: annotation paceline.dev/failures is gone; what "
                            "it counted is taken for 0"));
  job.End("digits-worker-2", 1);  // All of the job is looked at.
  ASSERT_TRUE(WaitForAnother(job, before.at("digits-worker-2")));
  EXPECT_EQ(kube::Uid(AllPods(job).at("digits-worker-1")), kube::Uid(before.at("digits-worker-1")));
  EXPECT_THAT(Told(job, "LabelsChanged"), SizeIs(1));
}

TEST_F(LabelsTest, WhatStandsAroundPodsGetsItsLabelsBack) {
  Job job(*world_, "digits", {{"workers", {{"minReplicas", 2}}}});
  Start(job);
  const auto pods = AllPods(job);
  const auto children = ChildrenOfDigits();
  const Writes writes(world_->server().audit_log());
  for (const char* const label : {kJob, kManager}) {
    ASSERT_TRUE(writes.WaitForQuiet(60));  // The operator knows each by its version.
    std::map<std::string, Json> before;
    for (const auto& [resource, name] : children) {
      before[resource.kind] = Object(resource, job, name);
      Label(resource, job, name, label, nullptr);
    }
    for (const auto& [resource, name] : children) {
      const Json& was = before[resource.kind];
      EXPECT_TRUE(Eventually(
          [&] {
            const Json now = Object(resource, job, name);
            return now["metadata"]["labels"] == was["metadata"]["labels"];
          },
          10))
          << resource.kind << " without " << label;
      EXPECT_EQ(kube::Uid(Object(resource, job, name)), kube::Uid(was));
    }
  }
  EXPECT_EQ(AllPods(job), pods);
}

}  // namespace
}  // namespace paceline::operator_test
