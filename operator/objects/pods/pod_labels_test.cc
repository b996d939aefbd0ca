#include "operator/objects/pods/pod_labels.h"

#include <optional>

#include <gtest/gtest.h>

#include "operator/objects/objects_testing.h"
#include "operator/objects/seen/seen_pod.h"

namespace paceline::controller {
namespace {

LabelsVerdict Judged(const Json& pod) {
  const auto process = SeenPod(Digits(), pod);
  EXPECT_TRUE(process.has_value());
  return process ? JudgeLabels(Digits(), pod, *process) : LabelsVerdict{};
}

Json WorkerPod() { return Pod(Digits(), job::Role::kWorker, 3); }

TEST(JudgeLabels, OfAPodThatIsAsItWasMadeThereIsNothingToTell) {
  for (const job::Role role :
       {job::Role::kParameterServer, job::Role::kWorker, job::Role::kEvaluator}) {
    Json pod = Pod(Digits(), role);
    pod["metadata"]["labels"]["team"] = "vision";
    pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "helm";
    EXPECT_EQ(Judged(pod).text, "");
    kube::Keep(pod, PartsOfPod());
    EXPECT_EQ(Judged(pod).text, "");
    EXPECT_FALSE(Judged(pod).must_go);
  }
}

TEST(JudgeLabels, APodThatOthersDoNotFindHasToGo) {
  struct Case {
    const char* label;
    std::optional<std::string> value;
    const char* text;
  };
  const Case cases[] = {
      {"paceline.dev/job", std::nullopt,
       "pod digits-worker-3: label paceline.dev/job is gone; it is deleted and made anew"},
      {"paceline.dev/role", "ps",
       "pod digits-worker-3: label paceline.dev/role is ps instead of worker; it is deleted and "
       "made anew"},
      {"paceline.dev/group", "big",
       "pod digits-worker-3: label paceline.dev/group is big instead of worker; it is deleted and "
       "made anew"},
      {"paceline.dev/index", "0",
       "pod digits-worker-3: label paceline.dev/index is 0 instead of 3; it is deleted and made "
       "anew"},
  };
  for (const Case& one : cases) {
    Json pod = WorkerPod();
    Json& labels = pod["metadata"]["labels"];
    if (one.value)
      labels[one.label] = *one.value;
    else
      labels.erase(one.label);
    EXPECT_EQ(Judged(pod).text, one.text);
    EXPECT_TRUE(Judged(pod).must_go) << one.text;
    // Whoever is on its way out is waited for.
    pod["metadata"]["deletionTimestamp"] = "2026-01-31T09:40:00Z";
    EXPECT_EQ(Judged(pod).text, "");
    EXPECT_FALSE(Judged(pod).must_go);
  }
}

TEST(JudgeLabels, AllThatChangedIsTold) {
  Json pod = WorkerPod();
  pod["metadata"]["labels"] = nullptr;
  pod["metadata"]["annotations"]["paceline.dev/attempt"] = "two";
  EXPECT_EQ(Judged(pod).text,
            "pod digits-worker-3: label paceline.dev/job is gone, label paceline.dev/role is gone, "
            "label paceline.dev/index "
            "is gone, annotation paceline.dev/attempt is two, which is no number; it is deleted "
            "and made anew");
}

// Older operators wrote none.
TEST(JudgeLabels, APodWithoutAGroupIsAsItWasMade) {
  Json pod = WorkerPod();
  pod["metadata"]["labels"].erase("paceline.dev/group");
  EXPECT_EQ(Judged(pod).text, "");
}

TEST(JudgeLabels, WhatHasEndedStays) {
  Json pod = WorkerPod();
  pod["metadata"]["labels"].erase("paceline.dev/role");
  pod["status"] = {{"phase", "Succeeded"}};
  EXPECT_EQ(Judged(pod).text,
            "pod digits-worker-3: label paceline.dev/role is gone; it has ended, and counts as it "
            "did");
  EXPECT_FALSE(Judged(pod).must_go);
}

TEST(JudgeLabels, ALostCountIsNoReasonToGo) {
  Json pod = WorkerPod();
  pod["metadata"]["annotations"].erase("paceline.dev/failures");
  EXPECT_EQ(Judged(pod).text,
            "pod digits-worker-3: annotation paceline.dev/failures is gone; what it counted is "
            "taken for 0");
  EXPECT_FALSE(Judged(pod).must_go);
}

}  // namespace
}  // namespace paceline::controller
