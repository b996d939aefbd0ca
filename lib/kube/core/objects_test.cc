// Metadata, owners, conditions, keys and patches of objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/kube/core/claim.h"
#include "lib/kube/core/condition.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/object_key.h"
#include "lib/kube/core/owner_reference.h"
#include "lib/kube/core/patch.h"

namespace paceline::kube {
namespace {

using testing::HasSubstr;

TEST(ObjectKeys, AreWrittenAndReadBack) {
  for (const char* text : {"team-a/digits", "node-1"}) {
    EXPECT_EQ(ToString(ObjectKey::Parse(text).value()), text);
  }
  for (const char* bad : {"", "/", "a/", "/a", "a/b/c"}) {
    EXPECT_EQ(ObjectKey::Parse(bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_LT((ObjectKey{"a", "z"}), (ObjectKey{"b", "a"}));
}

TEST(Metadata, ReadsWhatIsThere) {
  const Json object = Json::parse(R"({"metadata": {
    "name": "n", "namespace": "ns", "uid": "u", "resourceVersion": "12", "generation": 3,
    "labels": {"a": "b", "odd": 1}, "annotations": {"c": "d"},
    "creationTimestamp": "2026-01-31T09:30:00Z", "deletionTimestamp": "2026-01-31T09:31:00Z"}})");
  EXPECT_EQ(KeyOf(object), (ObjectKey{"ns", "n"}));
  EXPECT_EQ(Uid(object), "u");
  EXPECT_EQ(ResourceVersion(object), "12");
  EXPECT_EQ(Generation(object), 3);
  EXPECT_EQ(Labels(object), (StringMap{{"a", "b"}}));
  EXPECT_EQ(Label(object, "a"), "b");
  EXPECT_EQ(Annotation(object, "c"), "d");
  EXPECT_EQ(CreationTime(object), ParseTime("2026-01-31T09:30:00Z"));
  EXPECT_EQ(*DeletionTime(object) - *CreationTime(object), Seconds(60));
  EXPECT_TRUE(IsBeingDeleted(object));
}

TEST(Metadata, WhatIsAbsentOrOddIsEmpty) {
  for (const char* text : {"null", "{}", "[]", "3", R"({"metadata": 3})",
                           R"({"metadata": {"labels": [], "name": {}, "finalizers": "x"}})"}) {
    const Json object = Json::parse(text);
    EXPECT_EQ(KeyOf(object), ObjectKey{}) << text;
    EXPECT_TRUE(Labels(object).empty()) << text;
    EXPECT_EQ(Label(object, "a"), "") << text;
    EXPECT_FALSE(IsBeingDeleted(object)) << text;
    EXPECT_FALSE(HasFinalizer(object, "x")) << text;
    EXPECT_FALSE(CreationTime(object).has_value()) << text;
    EXPECT_FALSE(ControllerOf(object).has_value()) << text;
    EXPECT_FALSE(FindCondition(object, "Ready").has_value()) << text;
    Json copy = object;
    DropManagedFields(copy);
  }
}

TEST(Metadata, FinalizersComeAndGoOnce) {
  Json object;
  EXPECT_TRUE(AddFinalizer(object, "a"));
  EXPECT_FALSE(AddFinalizer(object, "a"));
  EXPECT_TRUE(AddFinalizer(object, "b"));
  EXPECT_TRUE(RemoveFinalizer(object, "a"));
  EXPECT_FALSE(RemoveFinalizer(object, "a"));
  EXPECT_EQ(object["metadata"]["finalizers"], Json({"b"}));
}

TEST(Metadata, DropsWhatNobodyReads) {
  Json object = Json::parse(R"({"metadata": {"name": "n", "managedFields": [{}],
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}})");
  DropManagedFields(object);
  EXPECT_EQ(object, Json::parse(R"({"metadata": {"name": "n"}})"));
}

Json Owner(const char* uid) {
  return {{"apiVersion", "example.com/v1"},
          {"kind", "Widget"},
          {"metadata", {{"name", "w"}, {"namespace", "ns"}, {"uid", uid}}}};
}

TEST(OwnerReferences, AnObjectHasOneController) {
  Json pod = {{"metadata", {{"name", "p"}, {"namespace", "ns"}}}};
  ASSERT_TRUE(SetController(Owner("1"), pod).ok());
  ASSERT_TRUE(SetController(Owner("1"), pod).ok());
  ASSERT_EQ(OwnerReferences(pod).size(), 1u);
  EXPECT_EQ(OwnerReferences(pod)[0], ControllerReference(Owner("1")));
  EXPECT_TRUE(IsControlledBy(pod, "1"));
  const Json before = pod;
  const Status second = SetController(Owner("2"), pod);
  EXPECT_EQ(second.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second), HasSubstr("ns/p is controlled by another object: Widget w 1"));
  EXPECT_EQ(pod, before);
  EXPECT_TRUE(RemoveOwner(pod, "1"));
  EXPECT_FALSE(RemoveOwner(pod, "1"));
  EXPECT_TRUE(SetController(Owner("2"), pod).ok());
}

TEST(OwnerReferences, APlainOwnerBecomesTheController) {
  Json pod = Json::parse(R"({"metadata": {"namespace": "ns", "name": "p", "ownerReferences":
    [{"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "1"}]}})");
  ASSERT_TRUE(SetController(Owner("1"), pod).ok());
  EXPECT_EQ(OwnerReferences(pod).size(), 1u);
  EXPECT_TRUE(IsControlledBy(pod, "1"));
}

TEST(OwnerReferences, AcrossNamespacesAreRefused) {
  Json pod = {{"metadata", {{"name", "p"}, {"namespace", "other"}}}};
  EXPECT_EQ(SetController(Owner("1"), pod).code(), StatusCode::kInvalidArgument);
  Json mine = {{"metadata", {{"name", "p"}, {"namespace", "ns"}}}};
  EXPECT_EQ(SetController(Owner(""), mine).code(), StatusCode::kInvalidArgument);
}

TEST(Claims, AreJudgedByControllerAndLabels) {
  const LabelSelector selector = LabelSelector::Of({{"app", "x"}});
  Json owner = Owner("1");
  Json pod = {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"labels", {{"app", "x"}}}}}};
  EXPECT_EQ(JudgeClaim(owner, selector, pod), Claim::kAdopt);
  EXPECT_EQ(JudgeClaim(owner, LabelSelector(), pod), Claim::kForeign);
  Json going = pod;
  going["metadata"]["deletionTimestamp"] = "2026-01-31T09:30:00Z";
  EXPECT_EQ(JudgeClaim(owner, selector, going), Claim::kForeign);
  Json going_owner = owner;
  going_owner["metadata"]["deletionTimestamp"] = "2026-01-31T09:30:00Z";
  EXPECT_EQ(JudgeClaim(going_owner, selector, pod), Claim::kForeign);
  ASSERT_TRUE(SetController(owner, pod).ok());
  EXPECT_EQ(JudgeClaim(owner, selector, pod), Claim::kOwned);
  EXPECT_EQ(JudgeClaim(Owner("2"), selector, pod), Claim::kForeign);
  SetLabel(pod, "app", "y");
  EXPECT_EQ(JudgeClaim(owner, selector, pod), Claim::kRelease);
  EXPECT_EQ(ToString(Claim::kRelease), "release");
}

TEST(Conditions, TheTimeChangesWithTheStatusOnly) {
  const Time start = *ParseTime("2026-01-31T09:30:00.75Z");
  Json object;
  Json& conditions = object["status"]["conditions"];
  Condition ready{.type = "Ready", .status = ConditionStatus::kFalse, .reason = "Starting"};
  EXPECT_TRUE(SetCondition(conditions, ready, start));
  EXPECT_FALSE(SetCondition(conditions, ready, start + Seconds(5)));
  ready.reason = "StillStarting";
  ready.observed_generation = 2;
  EXPECT_TRUE(SetCondition(conditions, ready, start + Seconds(10)));
  EXPECT_EQ(FindCondition(object, "Ready")->last_transition_time,
            ParseTime("2026-01-31T09:30:00Z"));
  EXPECT_EQ(FindCondition(object, "Ready")->observed_generation, 2);
  EXPECT_FALSE(IsConditionTrue(object, "Ready"));
  ready.status = ConditionStatus::kTrue;
  EXPECT_TRUE(SetCondition(conditions, ready, start + Seconds(20)));
  EXPECT_EQ(FindCondition(object, "Ready")->last_transition_time,
            ParseTime("2026-01-31T09:30:20Z"));
  EXPECT_TRUE(IsConditionTrue(object, "Ready"));
  EXPECT_TRUE(SetCondition(conditions, {.type = "Other", .reason = "New"}, start));
  EXPECT_EQ(conditions.size(), 2u);
}

TEST(MergePatches, TurnTheOldIntoTheNew) {
  const char* cases[][3] = {
      {R"({})", R"({})", R"({})"},
      {R"({"a":1})", R"({"a":1})", R"({})"},
      {R"({"a":1})", R"({"a":2})", R"({"a":2})"},
      {R"({"a":1,"b":2})", R"({"b":2})", R"({"a":null})"},
      {R"({"a":{"b":1,"c":2}})", R"({"a":{"b":1,"c":3}})", R"({"a":{"c":3}})"},
      {R"({"a":[1,2]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({"a":{"b":1}})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({"a":"x"})", R"({"a":{"b":{}}})", R"({"a":{"b":{}}})"},
  };
  for (const auto& [before, after, wanted] : cases) {
    const Json patch = MergePatchBetween(Json::parse(before), Json::parse(after));
    EXPECT_EQ(patch, Json::parse(wanted)) << before << after;
    Json patched = Json::parse(before);
    patched.merge_patch(patch);
    EXPECT_EQ(patched, Json::parse(after));
    EXPECT_EQ(IsEmptyPatch(patch), std::string(before) == after);
  }
}

}  // namespace
}  // namespace paceline::kube
