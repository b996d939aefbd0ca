// The claims that a job makes for its checkpoints, against a real API server.
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

class ClaimsTest : public OneOperator {
 protected:
  static Json Spec(const Json& checkpoint = Json::object()) {
    Json spec = {{"checkpoint",
                  {{"volumeClaimTemplate",
                    {{"spec",
                      {{"accessModes", {"ReadWriteOnce"}},
                       {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}}}}}};
    spec["checkpoint"].update(checkpoint);
    return spec;
  }
  Json Claim(const Job& job, int shard) {
    const auto claim = world_->client().Call(
        kube::Get(kube::PersistentVolumeClaims(),
                  {job.name_space(), fmt::format("digits-checkpoint-{}", shard)}));
    return claim.ok() ? *claim : Json();
  }
  bool Belongs(const Job& job, int shard) {
    return kube::IsControlledBy(Claim(job, shard), kube::Uid(job.Get()));
  }
};

TEST_F(ClaimsTest, StayByDefaultAndGoWithTheJobWhereItSaysSo) {
  Job kept(*world_, "digits", Spec());
  ASSERT_TRUE(kept.WaitForPods(kept.AllPodNames()));
  Job owned(*world_, "digits",
            Spec({{"persistentVolumeClaimRetentionPolicy", {{"whenDeleted", "Delete"}}}}));
  ASSERT_TRUE(owned.WaitForPods(owned.AllPodNames()));
  for (int shard = 0; shard < 2; ++shard) {
    EXPECT_FALSE(Belongs(kept, shard));
    EXPECT_FALSE(Claim(kept, shard).is_null());
    EXPECT_TRUE(Belongs(owned, shard));
  }
  // It may change its mind while it runs.
  owned.Patch({{"spec",
                {{"checkpoint",
                  {{"persistentVolumeClaimRetentionPolicy", {{"whenDeleted", "Retain"}}}}}}}});
  kept.Patch({{"spec",
               {{"checkpoint",
                 {{"persistentVolumeClaimRetentionPolicy", {{"whenDeleted", "Delete"}}}}}}}});
  EXPECT_TRUE(Eventually([&] { return !Belongs(owned, 1) && Belongs(kept, 1); }));
  EXPECT_FALSE(Belongs(owned, 0));
  EXPECT_TRUE(Belongs(kept, 0));
}

// As an operator of a version before made them: the next one takes the label at its first look.
TEST_F(ClaimsTest, CarryNoLabelByWhichAGitOpsToolWouldDeleteThem) {
  Job job(*world_, "digits", Spec());
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const auto is_untracked = [&](int shard) {
    const Json claim = Claim(job, shard);
    return kube::Label(claim, "app.kubernetes.io/instance").empty() &&
           kube::Annotation(claim, "argocd.argoproj.io/sync-options") == "Prune=false,Delete=false";
  };
  EXPECT_TRUE(is_untracked(0));
  operator_.reset();
  for (const char* const claim : {"digits-checkpoint-0", "digits-checkpoint-1"}) {
    ASSERT_TRUE(
        world_->client()
            .Call(kube::MergePatch(
                kube::PersistentVolumeClaims(), {job.name_space(), claim},
                {{"metadata",
                  {{"labels", {{"app.kubernetes.io/instance", "digits"}, {"team", "vision"}}},
                   {"annotations", {{"argocd.argoproj.io/sync-options", nullptr}}}}}}))
            .ok());
  }
  ASSERT_FALSE(is_untracked(1));
  StartOperator();
  EXPECT_TRUE(Eventually([&] { return is_untracked(0) && is_untracked(1); })) << job.Describe();
  EXPECT_EQ(kube::Label(Claim(job, 1), "team"), "vision");
  EXPECT_EQ(kube::Label(Claim(job, 1), "paceline.dev/job"), "digits");
}

TEST_F(ClaimsTest, OneThatIsBeingDeletedIsWaitedForAndSaid) {
  Job job(*world_, "other", Spec());  // For its namespace.
  const Json claim = {
      {"metadata",
       {{"name", "digits-checkpoint-1"},
        {"namespace", job.name_space()},
        {"finalizers", {"example.com/not-yet"}}}},
      {"spec",
       {{"accessModes", {"ReadWriteOnce"}}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
  const kube::ObjectKey key{job.name_space(), "digits-checkpoint-1"};
  ASSERT_TRUE(world_->client().Call(kube::Create(kube::PersistentVolumeClaims(), claim)).ok());
  ASSERT_TRUE(world_->client().Call(kube::Delete(kube::PersistentVolumeClaims(), key)).ok());
  Json digits = job.Get();
  digits["metadata"] = {{"name", "digits"}, {"namespace", job.name_space()}};
  digits.erase("status");
  ASSERT_TRUE(world_->client().Call(kube::Create(controller::TrainingJobs(), digits)).ok());
  const testing::TrainingJob waiting(
      world_->client(), [this](const std::string& arguments) { return world_->Kubectl(arguments); },
      {job.name_space(), "digits"});
  EXPECT_TRUE(waiting.WaitForMessage("ResourcesReady", "digits-checkpoint-1"));
  EXPECT_EQ(kube::StringAt(waiting.Get(), "/status/state"), "ClaimTerminating");
  EXPECT_TRUE(waiting.WaitForPods({}));
  EXPECT_TRUE(Eventually([&] {
    return world_->Kubectl("get events -n " + job.name_space()).find("ClaimTerminating") !=
           std::string::npos;
  }));
  ASSERT_TRUE(world_->client()
                  .Call(kube::MergePatch(kube::PersistentVolumeClaims(), key,
                                         {{"metadata", {{"finalizers", nullptr}}}}))
                  .ok());
  EXPECT_TRUE(waiting.WaitForPods(waiting.AllPodNames())) << waiting.Describe();
  EXPECT_EQ(kube::IntegerAt(waiting.Get(), "/status/coordinatorStarts"), 1);
}

// Nobody asked for checkpoints: several shards have them where the claim of the output says that
// all can mount it, which has to be known before the first pod is made.
TEST_F(ClaimsTest, OfTheOutputDecideOnDefaultCheckpointsOfSeveralShards) {
  const Json spec = {{"output", {{"volume", {{"persistentVolumeClaim", {{"claimName", "out"}}}}}}}};
  const auto has_checkpoints = [this](const Job& job, const std::string& pod) {
    const auto live = world_->client().Call(kube::Get(kube::Pods(), {job.name_space(), pod}));
    EXPECT_TRUE(live.ok()) << live.status();
    const bool has_folder = live->dump().find("--default-checkpoints") != std::string::npos;
    const bool has_mount = live->dump().find("paceline-output") != std::string::npos;
    EXPECT_TRUE(has_mount || !has_folder) << pod;
    return has_folder;
  };
  const auto kill_and_wait = [this](const Job& job, const std::string& pod) {
    const kube::ObjectKey key{job.name_space(), pod};
    const auto before = world_->client().Call(kube::Get(kube::Pods(), key));
    ASSERT_TRUE(before.ok()) << before.status();
    world_->Kubectl(fmt::format("delete pod {} -n {} --wait=false --grace-period=0 --force", pod,
                                job.name_space()));
    EXPECT_TRUE(Eventually([&] {
      const auto now = world_->client().Call(kube::Get(kube::Pods(), key));
      return now.ok() && kube::Uid(*now) != kube::Uid(*before);
    })) << job.Describe();
  };
  for (const bool is_shared : {true, false}) {
    Job job(*world_, "digits", spec);
    ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "waits for claim out")) << job.Describe();
    EXPECT_EQ(kube::StringAt(job.Get(), "/status/state"), "ClaimMissing");
    EXPECT_TRUE(job.WaitForPods({}));
    MakeClaim(*world_, job.name_space(), "out", is_shared ? "ReadWriteMany" : "ReadWriteOnce");
    ASSERT_TRUE(job.WaitForPods(job.AllPodNames())) << job.Describe();
    for (const char* shard : {"digits-ps-0", "digits-ps-1"})
      EXPECT_EQ(has_checkpoints(job, shard), is_shared) << shard;
    EXPECT_TRUE(job.WaitForMessage("Recoverable", is_shared ? "since the newest checkpoint"
                                                            : "out of spec.output.volume, "
                                                              "whose access mode is "
                                                              "ReadWriteOnce"))
        << job.Describe();
    // An operator that knows nothing of before decides the same for what it starts again.
    job.RunAll();
    operator_.reset();
    operator_ = std::make_unique<OperatorProcess>(*world_,
                                                  std::vector<std::string>{"--leader-elect=false"});
    ASSERT_TRUE(operator_->WaitForText("leading")) << operator_->Log();
    kill_and_wait(job, "digits-ps-1");
    EXPECT_EQ(has_checkpoints(job, "digits-ps-1"), is_shared);
  }
}

}  // namespace
}  // namespace paceline::operator_test
