// What the operator asks the API server for, and what it keeps in memory of the answers.
#include "operator/controller/cluster_view.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/eventually.h"
#include "lib/kube/core/json.h"
#include "lib/kube/testing/scripted_http.h"

namespace paceline::controller {
namespace {

using kube::Json;
using kube::testing::ScriptedConnection;
using kube::testing::ScriptedHttp;
using kube::testing::ScriptedRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// As a server keeps them: what somebody applied and who wrote which field is with each.
std::string Metadata(const char* name, const char* uid, const char* version, const char* more) {
  return fmt::format(
      R"({{"namespace":"research","name":"{}","uid":"{}","resourceVersion":"{}","generation":1,)"
      R"("managedFields":[{{"manager":"kubectl","fieldsV1":{{"f:spec":{{}}}}}}],)"
      R"("annotations":{{"kubectl.kubernetes.io/last-applied-configuration":"all of it",)"
      R"("paceline.dev/attempt":"2"}}{}}})",
      name, uid, version, more);
}

std::string Job() {
  return fmt::format(R"({{"metadata":{},"spec":{{"workers":{{"replicas":3}}}}}})",
                     Metadata("digits", "u", "5", ""));
}

const char* VersionOf(const std::string& phase) { return phase == "Running" ? "11" : "7"; }

std::string Pod(const char* phase) {
  const std::string metadata =
      Metadata("digits-worker-0", "p", VersionOf(phase),
               R"(,"labels":{"paceline.dev/job":"digits","app.kubernetes.io/name":"paceline"},)"
               R"("ownerReferences":[{"apiVersion":"paceline.dev/v1alpha1","kind":"TrainingJob",)"
               R"("name":"digits","uid":"u","controller":true,"blockOwnerDeletion":true}])");
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{},)"
      R"("spec":{{"nodeName":"n1","volumes":[{{"name":"data"}}],)"
      R"("containers":[{{"name":"worker","image":"paceline/worker","env":[{{"name":"A"}}],)"
      R"("resources":{{"limits":{{"cpu":"1","memory":"1Gi"}}}}}}]}},)"
      R"("status":{{"phase":"{}","qosClass":"Guaranteed","containerStatuses":)"
      R"([{{"name":"worker","imageID":"sha256:0","state":{{"running":{{}}}}}}]}}}})",
      metadata, phase);
}

Json KeptPod(const char* phase) {
  return Json::parse(fmt::format(
      R"({{"metadata":{{"namespace":"research",)"
      R"("name":"digits-worker-0","uid":"p","resourceVersion":"{}",)"
      R"("annotations":{{"paceline.dev/attempt":"2"}},"labels":{{"paceline.dev/job":"digits"}},)"
      R"("ownerReferences":[{{"kind":"TrainingJob","uid":"u","controller":true}}]}},)"
      R"("spec":{{"nodeName":"n1","containers":[{{"name":"worker","image":"paceline/worker",)"
      R"("resources":{{"limits":{{"memory":"1Gi"}}}}}}]}},)"
      R"("status":{{"phase":"{}","containerStatuses":[{{"name":"worker",)"
      R"("state":{{"running":{{}}}}}}]}}}})",
      VersionOf(phase), phase));
}

// Of any other kind, with content that nobody reads.
std::string Child() {
  return fmt::format(R"({{"metadata":{},"spec":{{"ports":[1]}},"data":{{"job.json":"long"}}}})",
                     Metadata("digits", "c", "6", ""));
}

// The last word of a path: "pods".
std::string ResourceOf(const ScriptedRequest& request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  return path.substr(path.rfind('/') + 1);
}

bool IsWatch(const ScriptedRequest& request) {
  return request.target.find("watch=true") != std::string::npos;
}

// An API server with a job, its pod and a child of each kind; the pod runs a moment later. It gives
// all that it has, whatever it is asked for.
class ClusterViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kube::Config config;
    config.server = server_.url();
    client_ = kube::Client::Create(config).value();
    ClusterViewHandler handler;
    handler.job_changed = [](const kube::ObjectKey&, bool) {};
    handler.status_changed = handler.child_changed = [](const kube::ObjectKey&) {};
    handler.pod_changed = [this](const kube::ObjectKey&, const kube::ObjectChange& change) {
      Json pod = *change.object();
      for (const char* const told_by_lists : {"apiVersion", "kind"}) pod.erase(told_by_lists);
      const std::lock_guard lock(mutex_);
      pods_.push_back(std::move(pod));
    };
    handler.failed = [](const std::string&, const Status&) {};
    view_ = std::make_unique<ClusterView>(*client_, "", GangScheduler::kVolcano, handler);
    view_->Start();
    ASSERT_TRUE(view_->WaitForSync(Seconds(30)).ok());
  }
  void TearDown() override { view_->Stop(); }

  void Answer(const ScriptedRequest& request, ScriptedConnection& connection) {
    const std::string resource = ResourceOf(request);
    {
      const std::lock_guard lock(mutex_);
      (IsWatch(request) ? watches_ : lists_).emplace(resource, request);
    }
    if (IsWatch(request)) {
      connection.StartChunks();
      if (resource == "pods")
        connection.Chunk(fmt::format(R"({{"type":"MODIFIED","object":{}}})", Pod("Running")) +
                         "\n");
      connection.WaitForClose(Seconds(60));
      return;
    }
    // Whether it has this kind is asked too, and it answers that last.
    if (resource == "podgroups") {
      EXPECT_TRUE(testing::Eventually([this] { return OthersWatch(); }));
    }
    const char* const kind = resource == "pods" ? "PodList" : "List";
    const std::string item = resource == "pods"           ? Pod("Pending")
                             : resource == "trainingjobs" ? Job()
                                                          : Child();
    connection.Answer(
        200, fmt::format(R"({{"apiVersion":"v1","kind":"{}","metadata":{{"resourceVersion":"9"}},)"
                         R"("items":[{}]}})",
                         kind, item));
  }

  bool OthersWatch() {
    const std::lock_guard lock(mutex_);
    return watches_.size() >= 6;
  }

  // Lists and watches, the latter once all are there.
  std::vector<ScriptedRequest> Requests() {
    EXPECT_TRUE(testing::Eventually([this] {
      const std::lock_guard lock(mutex_);
      return watches_.size() >= lists_.size();
    }));
    const std::lock_guard lock(mutex_);
    std::vector<ScriptedRequest> all;
    for (const auto* requests : {&lists_, &watches_}) {
      for (const auto& [resource, request] : *requests) all.push_back(request);
    }
    return all;
  }

  // Each version of the pod that was seen.
  std::vector<Json> Pods() {
    const std::lock_guard lock(mutex_);
    return pods_;
  }

  std::mutex mutex_;
  std::vector<Json> pods_;
  std::map<std::string, ScriptedRequest> lists_, watches_;  // By resource.
  ScriptedHttp server_{[this](const ScriptedRequest& request, ScriptedConnection& connection) {
    Answer(request, connection);
  }};
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<ClusterView> view_;
};

TEST_F(ClusterViewTest, KeepsOfPodsWhatIsReadWhetherListedOrWatched) {
  EXPECT_TRUE(testing::Eventually([this] { return Pods().size() >= 2; }, 30));
  EXPECT_THAT(Pods(), ElementsAre(KeptPod("Pending"), KeptPod("Running")));
}

TEST_F(ClusterViewTest, KeepsOfOtherChildrenTheirMetadata) {
  for (const char* const plural :
       {"services", "configmaps", "networkpolicies", "poddisruptionbudgets", "podgroups"}) {
    const auto child = view_->Child(plural, {"research", "digits"});
    ASSERT_NE(child, nullptr) << plural;
    EXPECT_FALSE(child->contains("spec")) << plural;
    EXPECT_FALSE(child->contains("data")) << plural;
    EXPECT_EQ(kube::StringAt(*child, "/metadata/uid"), "c") << plural;
  }
}

TEST_F(ClusterViewTest, KeepsNothingOfWhoWroteWhichField) {
  const auto job = view_->Job({"research", "digits"});
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(kube::IntegerAt(*job, "/spec/workers/replicas"), 3);
  std::vector<kube::ObjectPtr> all = {job, view_->PodsOf("u").at(0)};
  for (const char* const plural : {"services", "configmaps", "networkpolicies"})
    all.push_back(view_->Child(plural, {"research", "digits"}));
  for (const kube::ObjectPtr& object : all) {
    EXPECT_THAT(object->dump(), Not(HasSubstr("managedFields")));
    EXPECT_THAT(object->dump(), Not(HasSubstr("last-applied")));
  }
}

// Other people's pods, ConfigMaps and Services are not even sent.
TEST_F(ClusterViewTest, AsksForWhatBearsOurLabelAndForTheMetadataOfMost) {
  for (const ScriptedRequest& request : Requests()) {
    const std::string resource = ResourceOf(request);
    if (resource == "trainingjobs") continue;
    EXPECT_THAT(request.target, HasSubstr("labelSelector=paceline.dev%2Fjob&"));
    const std::string accept = request.headers.at("accept");
    if (resource == "pods") {
      EXPECT_THAT(accept, Not(HasSubstr("PartialObjectMetadata")));
    } else {
      EXPECT_THAT(accept, HasSubstr("PartialObjectMetadata")) << request.target;
    }
  }
}

TEST_F(ClusterViewTest, NeitherListsNorWatchesSecrets) {
  std::set<std::string> asked;
  for (const ScriptedRequest& request : Requests()) asked.insert(ResourceOf(request));
  EXPECT_THAT(asked, UnorderedElementsAre("trainingjobs", "pods", "services", "configmaps",
                                          "networkpolicies", "poddisruptionbudgets", "podgroups"));
}

}  // namespace
}  // namespace paceline::controller
