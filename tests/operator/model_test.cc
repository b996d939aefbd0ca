// What becomes of a finished job's model, against a real API server: the operator as a process, the
// kubelet's words by the test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "tests/operator/one_operator.h"

namespace paceline::operator_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kUntil = "2100-01-01T00:00:00Z";

std::string LastWord(bool is_fetched) {
  return fmt::format(
      R"({{"phase":"over","step":30,"epoch":1,"epochProgress":1,"percent":100,"workers":[],)"
      R"("epochs":[],"generationStart":1,"model":{{"sizeBytes":77,"sha256":"ab12","fetched":{}}},)"
      R"("finished":{{"success":true,"reason":"last epoch"}}}})",
      is_fetched ? "true" : "false");
}

class ModelTest : public OneOperator {
 protected:
  // What an operator has recorded of a job whose coordinator serves the model: the next one goes on
  // from that alone.
  void RecordServed(const Job& job) {
    operator_.reset();
    Json status = job.Get()["status"];
    for (Json& condition : status["conditions"]) {
      if (condition["type"] != "Succeeded") continue;
      condition.update(Json{{"status", "True"}, {"reason", "TrainingSucceeded"}});
    }
    status["completionTime"] = "2020-01-01T00:00:00Z";  // Nobody is given time to end by itself.
    status["model"] = {{"state", "Available"},
                       {"where", "pod digits-ps-0"},
                       {"until", kUntil},
                       {"sizeBytes", 77},
                       {"sha256", "ab12"}};
    const auto written = world_->client().Call(
        kube::MergePatch(controller::TrainingJobs(), {job.name_space(), "digits"},
                         {{"status", status}}, {.subresource = "status"}));
    ASSERT_TRUE(written.ok()) << written.status();
    StartOperator();
  }
  std::string Model(const Job& job, const char* field = "state") {
    return kube::StringAt(job.Get(), std::string("/status/model/") + field);
  }
  std::string Events(const Job& job) {
    return world_->Kubectl("get events -n " + job.name_space());
  }
};

TEST_F(ModelTest, ItsTokenIsASecretThatTheCoordinatorAloneMounts) {
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const auto secret =
      world_->client().Call(kube::Get(kube::Secrets(), {job.name_space(), "digits-token"}));
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ((*secret)["metadata"]["ownerReferences"][0]["uid"], kube::Uid(job.Get()));
  EXPECT_GE(kube::StringAt(*secret, "/data/token").size(), 40u);
  for (const auto& [name, unused] : job.Pods()) {
    const auto pod = world_->client().Call(kube::Get(kube::Pods(), {job.name_space(), name}));
    ASSERT_TRUE(pod.ok()) << pod.status();
    const bool has_token = pod->dump().find("digits-token") != std::string::npos;
    EXPECT_EQ(has_token, name == "digits-ps-0") << name;
    EXPECT_EQ(pod->dump().find("--serve-model") != std::string::npos, has_token) << name;
  }
  // Which no job needs whose model lies on a volume.
  Job other(*world_, "digits",
            {{"output", {{"volume", {{"persistentVolumeClaim", {{"claimName", "out"}}}}}}}});
  MakeClaim(*world_, other.name_space(), "out", "ReadWriteOnce");
  ASSERT_TRUE(other.WaitForPods(other.AllPodNames()));
  EXPECT_TRUE(IsNotFound(world_->client()
                             .Call(kube::Get(kube::Secrets(), {other.name_space(), "digits-token"}))
                             .status()));
}

TEST_F(ModelTest, TheCoordinatorsPodStaysUntilItWasFetched) {
  Job job(*world_, "digits", {{"runPolicy", {{"cleanPodPolicy", "All"}}}});
  Start(job);
  RecordServed(job);
  ASSERT_TRUE(job.WaitForPods({"digits-ps-0"})) << job.Describe();
  EXPECT_EQ(Model(job), "Available");
  EXPECT_TRUE(Eventually([&] {  // Once the view has shown that the other one is gone.
    return kube::IntegerAt(job.Get(), "/status/replicaStatuses/parameterServer/active") == 0;
  })) << job.Describe();
  EXPECT_THAT(world_->Kubectl("describe tj digits -n " + job.name_space()),
              AllOf(HasSubstr("Available"), HasSubstr(kUntil), HasSubstr("ab12")));
  job.End("digits-ps-0", 0, LastWord(true));
  ASSERT_TRUE(Eventually([&] { return Model(job) == "Fetched"; })) << job.Describe();
  EXPECT_TRUE(job.WaitForPods({}));  // As cleanPodPolicy says, and not before.
  EXPECT_EQ(job.Condition("Succeeded"), "True");
  EXPECT_TRUE(Eventually([&] { return Events(job).find("ModelFetched") != std::string::npos; }));
}

TEST_F(ModelTest, APodThatIsLostBeforeIsSaidAndNotStartedAgain) {
  Job job(*world_, "digits");
  Start(job);
  RecordServed(job);
  ASSERT_TRUE(job.WaitForPods({"digits-ps-0"})) << job.Describe();
  world_->Kubectl(fmt::format("delete pod digits-ps-0 -n {} --wait=false", job.name_space()));
  ASSERT_TRUE(Eventually([&] { return Model(job) == "Lost"; })) << job.Describe();
  EXPECT_THAT(Model(job, "message"), HasSubstr("digits-ps-0"));
  EXPECT_EQ(kube::StringAt(job.Get(), "/status/state"), "Succeeded");
  EXPECT_TRUE(Eventually([&] { return Events(job).find("ModelLost") != std::string::npos; }));
  EXPECT_TRUE(job.WaitForPods({}));
}

TEST_F(ModelTest, FetchedBeforeAnybodySawTheEndItIsSettledAtOnce) {
  Job job(*world_, "digits");
  Start(job);
  job.End("digits-ps-0", 0, LastWord(true));
  ASSERT_TRUE(job.WaitForCondition("Succeeded"));
  EXPECT_EQ(Model(job), "Fetched");
  EXPECT_EQ(Model(job, "sha256"), "ab12");
}

TEST_F(ModelTest, OnAVolumeItIsSaidWhere) {
  Job job(*world_, "digits",
          {{"output", {{"volume", {{"persistentVolumeClaim", {{"claimName", "out"}}}}}}}});
  MakeClaim(*world_, job.name_space(), "out", "ReadWriteOnce");
  Start(job);
  job.End("digits-ps-0", 0, LastWord(false));
  ASSERT_TRUE(job.WaitForCondition("Succeeded"));
  EXPECT_EQ(Model(job), "OnVolume");
  EXPECT_EQ(Model(job, "where"), "claim out, model.safetensors");
  EXPECT_EQ(Model(job, "sha256"), "ab12");
}

}  // namespace
}  // namespace paceline::operator_test
