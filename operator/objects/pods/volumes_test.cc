// Volumes and claims of a job's pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/objects/children.h"
#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(PodTest, ItsTraceLiesOnTheOutputsVolumeWhereItIsAskedFor) {
  job::TrainingJob job = Digits();
  const auto trace = [&](int64_t index = 0) {
    return After(Arguments(Pod(job, job::Role::kParameterServer, index)), "--trace");
  };
  job.spec.output.volume.emplace().persistent_volume_claim = job::Claim{.claim_name = "out"};
  EXPECT_EQ(trace(), "");  // Nobody asked.
  job.spec.observability.trace.max_bytes = 1 << 20;
  EXPECT_EQ(trace(), "/paceline/output/digits-trace-uid-1/policy.trace");
  EXPECT_EQ(trace(1), "");
  job.spec.observability.trace.max_bytes = 0;
  EXPECT_EQ(trace(), "");
  job.spec.observability.trace.max_bytes = 1 << 20;
  job.spec.output.volume.reset();
  EXPECT_EQ(trace(), "");
}

// What bounds what a pod writes there.
TEST(PodTest, ATemplatesOwnFolderForTemporaryFilesStays) {
  job::TrainingJob job = Digits();
  job.spec.workers.pod_template = Yaml(R"(
spec:
  volumes: [{name: small, emptyDir: {sizeLimit: 1Gi}}]
  containers: [{name: worker, volumeMounts: [{name: small, mountPath: /tmp}]}]
)");
  const Json pod = Pod(job, job::Role::kWorker);
  EXPECT_EQ(Named(pod["spec"]["volumes"], "paceline-tmp"), nullptr);
  EXPECT_EQ((*Named(pod["spec"]["volumes"], "small"))["emptyDir"]["sizeLimit"], "1Gi");
}

TEST(PodTest, OutputGoesToTheCoordinatorAndCheckpointsToAllServers) {
  job::TrainingJob job = Digits();
  job.spec.output.volume.emplace().persistent_volume_claim = job::Claim{.claim_name = "out"};
  job.spec.checkpoint.emplace().volume_claim_template =
      Yaml("spec: {accessModes: [ReadWriteOnce]}");
  const Json first = Pod(job, job::Role::kParameterServer, 0);
  const Json second = Pod(job, job::Role::kParameterServer, 1);
  EXPECT_EQ(After(Arguments(first), "--lock-output"), "60");
  EXPECT_THAT(Arguments(second), Not(Contains("--lock-output")));
  const Json worker = Pod(job, job::Role::kWorker, 0);
  EXPECT_EQ(
      (*Named(first["spec"]["volumes"], "paceline-output"))["persistentVolumeClaim"]["claimName"],
      "out");
  EXPECT_EQ(Named(second["spec"]["volumes"], "paceline-output"), nullptr);
  EXPECT_EQ((*Named(second["spec"]["volumes"],
                    "paceline-checkpoint"))["persistentVolumeClaim"]["claimName"],
            "digits-checkpoint-1");
  EXPECT_EQ(Named(worker["spec"]["volumes"], "paceline-checkpoint"), nullptr);
  EXPECT_EQ(After(Arguments(first), "--output"), "/paceline/output/model.safetensors");
  EXPECT_EQ(BuildCheckpointClaims(job).size(), 2u);
}

TEST(ClaimTest, GoesWithTheJobOnlyWhereItSaysSo) {
  job::TrainingJob job = Digits();
  job::Checkpoint& checkpoint = job.spec.checkpoint.emplace();
  checkpoint.volume_claim_template = Yaml("spec: {accessModes: [ReadWriteOnce]}");
  const Json kept = BuildCheckpointClaims(job).front();
  EXPECT_FALSE(kept["metadata"].contains("ownerReferences"));
  checkpoint.claim_retention.emplace().when_deleted = job::ClaimFate::kDelete;
  const Json owned = BuildCheckpointClaims(job).front();
  EXPECT_TRUE(IsControlledBy(owned, *job.metadata.uid));
  // Another word about it is another owner, and nothing else.
  EXPECT_FALSE(ClaimPatch(job, owned));
  const auto owners = [](const Json& patch) { return patch["metadata"]["ownerReferences"]; };
  ASSERT_TRUE(ClaimPatch(job, kept));
  EXPECT_EQ(owners(*ClaimPatch(job, kept)), Json::array({OwnerReference(job)}));
  checkpoint.claim_retention.reset();
  EXPECT_FALSE(ClaimPatch(job, kept));
  Json shared = owned;
  shared["metadata"]["ownerReferences"].push_back({{"uid", "somebody"}});
  ASSERT_TRUE(ClaimPatch(job, shared));
  EXPECT_EQ(owners(*ClaimPatch(job, shared)), Json::array({{{"uid", "somebody"}}}));
}

// Argo CD deletes what carries its application's name and is not in its repository.
TEST(ClaimTest, IsNothingThatAGitOpsToolTracks) {
  job::TrainingJob job = Digits();
  job.spec.checkpoint.emplace().volume_claim_template =
      Yaml("spec: {accessModes: [ReadWriteOnce]}");
  const std::string instance = "app.kubernetes.io/instance";
  const Json made = BuildCheckpointClaims(job).front();
  EXPECT_FALSE(made["metadata"]["labels"].contains(instance));
  EXPECT_EQ(made["metadata"]["annotations"]["argocd.argoproj.io/sync-options"],
            "Prune=false,Delete=false");
  EXPECT_FALSE(ClaimPatch(job, made));
  // By an operator of a version before, for this job or another one of its name.
  Json before = made;
  before["metadata"]["labels"][instance] = "digits";
  before["metadata"]["annotations"].erase("argocd.argoproj.io/sync-options");
  before["metadata"]["resourceVersion"] = "7";
  for (const bool is_another : {false, true}) {
    if (is_another) job.metadata.uid = "the next one's";
    EXPECT_EQ(
        ClaimPatch(job, before),
        (Json{{"metadata",
               {{"labels", {{instance, nullptr}}},
                {"annotations", {{"argocd.argoproj.io/sync-options", "Prune=false,Delete=false"}}},
                {"resourceVersion", "7"}}}}));
  }
  // What somebody else has put there stays.
  before["metadata"]["labels"][instance] = "fleet";
  before["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] = "Prune=confirm";
  EXPECT_FALSE(ClaimPatch(job, before));
  before["metadata"]["labels"] = {{instance, "digits"}};
  EXPECT_FALSE(ClaimPatch(job, before)) << "it is nobody's of ours";
}

TEST(ClaimTest, OfAnotherJobOfThatNameStaysWhateverThisOneSays) {
  job::TrainingJob job = Digits();
  job::Checkpoint& checkpoint = job.spec.checkpoint.emplace();
  checkpoint.volume_claim_template = Yaml("spec: {accessModes: [ReadWriteOnce]}");
  const Json kept = BuildCheckpointClaims(job).front();
  checkpoint.claim_retention.emplace().when_deleted = job::ClaimFate::kDelete;
  EXPECT_FALSE(KeepsClaimOfAnother(job, kept));
  job.metadata.uid = "the next one's";
  EXPECT_TRUE(KeepsClaimOfAnother(job, kept));
  EXPECT_FALSE(ClaimPatch(job, kept));
}

}  // namespace
}  // namespace paceline::controller
