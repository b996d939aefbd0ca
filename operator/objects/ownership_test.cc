#include "operator/objects/ownership.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/objects/children.h"
#include "operator/objects/objects_testing.h"
#include "operator/objects/seen/seen_pod.h"

namespace paceline::controller {
namespace {

Json Owned(const char* kind, const char* name, const char* uid) {
  Json service = BuildService(Digits());
  Json& owner = service["metadata"]["ownerReferences"][0];
  owner["kind"] = kind;
  owner["name"] = name;
  owner["uid"] = uid;
  return service;
}

std::string WaitedFor(const job::TrainingJob& job, const Json& pod) {
  FormerJob former;
  AddPod(former, job, pod);
  return Describe(former);
}

TEST(Ownership, IsTheControllersAndWithoutOneTheLabels) {
  const job::TrainingJob job = Digits();
  EXPECT_EQ(OwnershipOf(job, BuildService(job)), Ownership::kOurs);
  EXPECT_EQ(OwnershipOf(job, Owned("TrainingJob", "digits", "uid-0")), Ownership::kFormer);
  EXPECT_EQ(OwnershipOf(job, Owned("TrainingJob", "letters", "uid-0")), Ownership::kForeign);
  EXPECT_EQ(OwnershipOf(job, Owned("Deployment", "digits", "uid-0")), Ownership::kForeign);
  Json orphan = BuildService(job);
  orphan["metadata"].erase("ownerReferences");
  EXPECT_EQ(OwnershipOf(job, orphan), Ownership::kOrphaned);
  for (const char* label : {"paceline.dev/job", "app.kubernetes.io/managed-by"}) {
    Json other = orphan;
    other["metadata"].erase("annotations");
    other["metadata"]["labels"][label] = "another";
    EXPECT_EQ(OwnershipOf(job, other), Ownership::kForeign) << label;
  }
  // A policy engine has overwritten the one, and the operator's hash is there.
  orphan["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "another";
  ASSERT_TRUE(orphan["metadata"]["annotations"].contains("paceline.dev/wanted"));
  EXPECT_EQ(OwnershipOf(job, orphan), Ownership::kOrphaned);
}

// Names, API versions and most labels of pods are not kept in the view.
TEST(Ownership, OfAPodIsSeenInWhatTheViewKeepsOfIt) {
  const job::TrainingJob job = Digits();
  Json pod = Pod(job, job::Role::kWorker);
  pod["metadata"]["ownerReferences"][0]["uid"] = "uid-0";
  kube::Keep(pod, PartsOfPod());
  EXPECT_EQ(OwnershipOf(job, pod), Ownership::kFormer);
  EXPECT_EQ(WaitedFor(job, pod), "pods digits-worker-0");
  pod["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet";
  EXPECT_EQ(OwnershipOf(job, pod), Ownership::kForeign);
  EXPECT_EQ(WaitedFor(job, pod), "");
}

TEST(Ownership, APodThatIsLeftToItselfWasMadeByAnOperatorOrByHand) {
  const job::TrainingJob job = Digits();
  Json pod = Pod(job, job::Role::kWorker);
  EXPECT_EQ(WaitedFor(job, pod), "");
  pod["metadata"].erase("ownerReferences");
  kube::Keep(pod, PartsOfPod());
  EXPECT_EQ(WaitedFor(job, pod),
            "pods that belong to nobody and have to be deleted: digits-worker-0");
  pod["metadata"].erase("annotations");  // As `kubectl run` makes one.
  EXPECT_EQ(WaitedFor(job, pod), "");
}

TEST(FormerJob, IsDescribedByTenNamesOfEachKindAtMost) {
  EXPECT_EQ(Describe({}), "");
  EXPECT_EQ(Describe({.pods = {"digits-worker-1", "digits-ps-0"},
                      .orphans = {},
                      .others = {"Secret digits-token"}}),
            "pods digits-ps-0, digits-worker-1; Secret digits-token");
  FormerJob many;
  for (int i = 0; i < 12; ++i) many.pods.insert(fmt::format("digits-worker-{:02}", i));
  const std::string text = Describe(many);
  EXPECT_NE(text.find("digits-worker-09 and 2 more"), std::string::npos) << text;
  EXPECT_EQ(text.find("digits-worker-10"), std::string::npos) << text;
  EXPECT_EQ(Describe({.pods = {}, .orphans = {"digits-ps-0"}, .others = {"Service digits"}}),
            "pods that belong to nobody and have to be deleted: digits-ps-0; Service digits");
}

}  // namespace
}  // namespace paceline::controller
