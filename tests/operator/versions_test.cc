// An operator of another version comes while jobs run: they keep what they were begun with.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/base/json_text.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "tests/operator/one_operator.h"
#include "tests/operator/writes.h"

namespace paceline::operator_test {
namespace {

class VersionsTest : public OneOperator {
 protected:
  // Another operator takes the place of the one there was.
  void Upgrade() {
    operator_ = std::make_unique<OperatorProcess>(
        *world_, std::vector<std::string>{"--leader-elect=false", "--ps-image=paceline/ps:next",
                                          "--worker-image=paceline/worker:next"});
    ASSERT_TRUE(operator_->WaitForText("leading")) << operator_->Log();
  }
  static std::string ImageOf(const Job& job, const std::string& pod) {
    return kube::StringAt(job.Pods().at(pod), "/spec/containers/0/image");
  }
  // The image of the pod that is made in this one's place.
  std::string Replaced(const Job& job, const std::string& pod) {
    const std::string before = kube::Uid(job.Pods().at(pod));
    world_->Kubectl(
        fmt::format("delete pod -n {} {} --grace-period=0 --force", job.name_space(), pod));
    EXPECT_TRUE(Eventually([&] {
      const auto pods = job.Pods();
      return pods.contains(pod) && kube::Uid(pods.at(pod)) != before;
    }));
    return ImageOf(job, pod);
  }
  Json File(const Job& job) {
    const Json map = Object(kube::ConfigMaps(), job, job.name() + "-job");
    return JsonFrom(kube::StringAt(map, "/data/job.json"));
  }
};

TEST_F(VersionsTest, AJobKeepsItsImagesUntilItIsSuspended) {
  Job job(*world_, "digits");
  Start(job);
  operator_.reset();
  Upgrade();
  EXPECT_EQ(Replaced(job, "digits-worker-1"), "paceline/worker:test");
  EXPECT_EQ(Replaced(job, "digits-ps-1"), "paceline/ps:test");
  Job later(*world_, "later");
  ASSERT_TRUE(later.WaitForPods(later.AllPodNames()));
  EXPECT_EQ(ImageOf(later, "later-ps-0"), "paceline/ps:next");

  job.Patch({{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  ASSERT_TRUE(Eventually([&] { return job.Pods().empty(); })) << job.Describe();
  job.Patch({{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames())) << job.Describe();
  EXPECT_EQ(ImageOf(job, "digits-worker-1"), "paceline/worker:next");
}

// As an operator of a version before left it.
TEST_F(VersionsTest, AJobWithoutARecordKeepsTheImagesOfItsPods) {
  Job job(*world_, "digits");
  Start(job);
  operator_.reset();
  world_->Kubectl(fmt::format("annotate configmap -n {} digits-job paceline.dev/pod-defaults-",
                              job.name_space()));
  Upgrade();
  EXPECT_EQ(Replaced(job, "digits-worker-1"), "paceline/worker:test");
}

TEST_F(VersionsTest, TheFileOfAnOlderJobGetsNoFieldThatItsProgramsDoNotKnow) {
  Job job(*world_, "digits");
  Start(job);
  operator_.reset();
  Json file = File(job);
  ASSERT_EQ(file["spec"]["network"].erase("transport"), 1u);
  const Json patch = {{"metadata", {{"annotations", {{"paceline.dev/wanted", "of-before"}}}}},
                      {"data", {{"job.json", JsonText(file)}}}};
  ASSERT_TRUE(
      client()
          .Call(kube::MergePatch(kube::ConfigMaps(), {job.name_space(), "digits-job"}, patch))
          .ok());
  StartOperator();
  job.Patch({{"spec", {{"workers", {{"replicas", 4}}}}}});
  EXPECT_TRUE(
      Eventually([&] { return kube::IntegerAt(File(job), "/spec/workers/replicas") == 4; }));
  EXPECT_FALSE(File(job)["spec"]["network"].contains("transport"));
}

// The claim makes it when the job is seen; what is edited before the job starts is in it, too.
TEST_F(VersionsTest, TheFileIsOfTheSpecThatPodsStartWith) {
  Job job(*world_, "digits", {{"runPolicy", {{"suspend", true}}}});
  ASSERT_TRUE(Eventually([&] { return !Object(kube::ConfigMaps(), job, "digits-job").is_null(); }));
  ASSERT_TRUE(job.WaitForCondition("Suspended"));
  const Writes writes(world_->server().audit_log());
  const size_t from = writes.LinesSoFar();
  job.Patch({{"spec", {{"sync", {{"scheme", "SSP"}}}, {"runPolicy", {{"suspend", false}}}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const std::vector<std::string> all = writes.Since(from);
  const auto first = [&](const std::string& verb, const std::string& part) {
    return std::find_if(all.begin(), all.end(), [&](const std::string& write) {
      return write.starts_with(verb) && write.find(part) != std::string::npos;
    });
  };
  ASSERT_NE(first("patch", "/configmaps/digits-job"), all.end());
  EXPECT_LT(first("patch", "/configmaps/digits-job"), first("create", "/pods"));
}

}  // namespace
}  // namespace paceline::operator_test
