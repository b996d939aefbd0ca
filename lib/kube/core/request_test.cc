#include "lib/kube/core/request.h"

#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

const Json kPod = {{"metadata", {{"name", "p"}, {"namespace", "ns"}}}};

TEST(Resources, HaveTheirPaths) {
  EXPECT_EQ(Pods().CollectionPath(""), "/api/v1/pods");
  EXPECT_EQ(Pods().Path({"ns", "p"}, "status"), "/api/v1/namespaces/ns/pods/p/status");
  EXPECT_EQ(Leases().Path({"ns", "l"}), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l");
  EXPECT_EQ(Nodes().Path({"", "n"}), "/api/v1/nodes/n");
  EXPECT_EQ(ClusterRoles().Path({"", "system:x/y"}),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Ax%2Fy");
  EXPECT_EQ(Deployments().api_version(), "apps/v1");
  EXPECT_EQ(Pods().api_version(), "v1");
}

TEST(Resources, ApiVersionsAreTakenApart) {
  EXPECT_EQ(ParseGroupVersionKind("apps/v1", "Deployment").value(),
            (GroupVersionKind{"apps", "v1", "Deployment"}));
  EXPECT_EQ(ParseGroupVersionKind("v1", "Pod").value().api_version(), "v1");
  for (const char* bad : {"", "/v1", "apps/", "a/b/c"}) {
    EXPECT_FALSE(ParseGroupVersionKind(bad, "X").ok()) << bad;
  }
  EXPECT_FALSE(ParseGroupVersionKind("v1", "").ok());
}

TEST(Requests, AskForPagesAndSelections) {
  EXPECT_EQ(Target(List(Pods(), {.name_space = "ns",
                                 .label_selector = "a in (b,c)",
                                 .field_selector = "spec.nodeName=n",
                                 .limit = 2,
                                 .continue_token = "t+/"})),
            "/api/v1/namespaces/ns/pods?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=spec."
            "nodeName%3Dn&limit=2&continue=t%2B%2F");
  EXPECT_EQ(Target(List(Pods(), {.limit = 0, .resource_version = "0"})),
            "/api/v1/pods?resourceVersion=0");
}

TEST(Requests, WatchesAskForBookmarksAndAnEnd) {
  EXPECT_EQ(
      Target(Watch(Pods(), {.resource_version = "7", .timeout = Seconds(299.5)})),
      "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=300");
}

TEST(Requests, WritesGoWhereTheObjectSays) {
  EXPECT_EQ(Create(Pods(), kPod).path, "/api/v1/namespaces/ns/pods");
  EXPECT_EQ(Create(Pods(), kPod, {.subresource = "eviction"}).path,
            "/api/v1/namespaces/ns/pods/p/eviction");
  EXPECT_EQ(Target(Update(Pods(), kPod, {.subresource = "status", .field_manager = "m"})),
            "/api/v1/namespaces/ns/pods/p/status?fieldManager=m");
  EXPECT_EQ(Create(Pods(), kPod, {.subresource = "eviction"}).resource, "pods/eviction");
  EXPECT_FALSE(Create(Pods(), kPod).is_repeatable);
  EXPECT_EQ(MergePatch(Pods(), {"ns", "p"}, {{"a", 1}}).content_type,
            "application/merge-patch+json");
}

TEST(Requests, ApplyNamesKindManagerAndForce) {
  const Request apply = Apply(Pods(), kPod, {.field_manager = "m", .force = true});
  EXPECT_EQ(apply.method, "PATCH");
  EXPECT_EQ(apply.content_type, "application/apply-patch+yaml");
  EXPECT_EQ(Target(apply), "/api/v1/namespaces/ns/pods/p?fieldManager=m&force=true");
  EXPECT_EQ(Json::parse(apply.body)["kind"], "Pod");
  EXPECT_EQ(Json::parse(apply.body)["apiVersion"], "v1");
}

TEST(Requests, StrictOnesSaySo) {
  EXPECT_EQ(Target(Create(Pods(), kPod, {.is_strict = true})),
            "/api/v1/namespaces/ns/pods?fieldValidation=Strict");
}

TEST(Requests, DeletesCarryTheirConditions) {
  const Request request = Delete(Pods(), {"ns", "p"},
                                 {.uid = "u",
                                  .resource_version = "3",
                                  .propagation = Propagation::kForeground,
                                  .grace_period_seconds = 0,
                                  .dry_run = true});
  EXPECT_EQ(Json::parse(request.body), Json::parse(R"({"apiVersion": "v1", "kind": "DeleteOptions",
    "preconditions": {"uid": "u", "resourceVersion": "3"}, "propagationPolicy": "Foreground",
    "gracePeriodSeconds": 0, "dryRun": ["All"]})"));
  EXPECT_EQ(Target(DeleteCollection(Pods(), "ns", "a=b")),
            "/api/v1/namespaces/ns/pods?labelSelector=a%3Db");
}

}  // namespace
}  // namespace paceline::kube
