// Nodes of more than one architecture: our images go where they run, and an image that does not is
// no fault of the job's.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/json.h"
#include "operator/objects/pods/image_nodes.h"
#include "tests/operator/one_operator.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kForeign = "exec /usr/bin/python3: exec format error";

class NodesTest : public OneOperator {
 protected:
  // As a scheduler does it.
  void Bind(const Job& job, const std::string& pod, const std::string& node) {
    const Json binding = {{"apiVersion", "v1"},
                          {"kind", "Binding"},
                          {"metadata", {{"name", pod}, {"namespace", job.name_space()}}},
                          {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
    const auto bound =
        client().Call(kube::Create(kube::Pods(), binding, {.subresource = "binding"}));
    ASSERT_TRUE(bound.ok()) << bound.status();
  }
  // The one that ended has a successor.
  static bool WaitForAttempt(const Job& job, const std::string& pod, const std::string& attempt) {
    return Eventually([&] {
      const auto pods = job.Pods();
      const auto found = pods.find(pod);
      return found != pods.end() &&
             kube::StringAt(found->second, "/metadata/annotations/paceline.dev~1attempt") ==
                 attempt;
    });
  }
};

TEST_F(NodesTest, OurImagesSelectNodesThatRunThem) {
  Job job(*world_, "digits", {{"workers", {{"template", Json::parse(R"({"spec": {"containers": [
              {"name": "worker", "image": "mine:1"}]}})")}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames())) << job.Describe();
  const auto pods = job.Pods();
  EXPECT_EQ(kube::StringAt(pods.at("digits-ps-0"), "/spec/nodeSelector/kubernetes.io~1os"),
            "linux");
  EXPECT_EQ(kube::StringAt(pods.at("digits-ps-0"), "/spec/nodeSelector/kubernetes.io~1arch"),
            controller::OwnArchitecture());
  EXPECT_FALSE(pods.at("digits-worker-0")["spec"].contains("nodeSelector"));
}

TEST_F(NodesTest, AForeignImageIsTriedElsewhereAndNotTheJobsFailure) {
  Job job(*world_, "digits",
          {{"runPolicy", {{"backoffLimit", 1}}},
           {"workers", {{"minReplicas", 2}, {"template", Json::parse(R"({"spec": {"containers": [
              {"name": "worker", "image": "mine:1"}]}})")}}}});
  Start(job);
  for (int attempt = 0; attempt < 3; ++attempt) {  // More than backoffLimit allows.
    Bind(job, "digits-worker-1", "node-7");
    job.End("digits-worker-1", 255, kForeign);
    EXPECT_TRUE(job.WaitForMessage(
        "Restarting", "digits-worker-1 on node-7: image mine:1 is not for its node's architecture"))
        << job.Describe();
    ASSERT_TRUE(WaitForAttempt(job, "digits-worker-1", std::to_string(attempt + 1)))
        << job.Describe();
  }
  EXPECT_EQ(job.Condition("Failed"), "False");
  EXPECT_EQ(kube::IntegerAt(job.Get(), "/status/failures"), 0);
  EXPECT_THAT(job.Pods().at("digits-worker-1")["spec"]["affinity"].dump(), HasSubstr("node-7"));
  EXPECT_THAT(job.Describe(), HasSubstr("kubernetes.io/arch in the template's nodeSelector"));
}

}  // namespace
}  // namespace paceline::operator_test
