#include "operator/objects/mend.h"

#include <gtest/gtest.h>

#include "operator/objects/children.h"
#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

// As the API server gives it back: with a version, and with what it fills in.
Json Stored(Json object) {
  object["metadata"]["uid"] = "u";
  object["metadata"]["resourceVersion"] = "7";
  object["metadata"]["managedFields"] = Json::array();
  if (object["kind"] == "Service") {
    object["spec"]["type"] = "ClusterIP";
    object["spec"]["sessionAffinity"] = "None";
    for (Json& port : object["spec"]["ports"]) {
      port["protocol"] = "TCP";
      port["targetPort"] = port["port"];
    }
  }
  return object;
}

TEST(PatchTowards, IsNothingForWhatIsAsPlanned) {
  const job::TrainingJob job = Digits();
  for (const Json& wanted :
       {BuildService(job), BuildConfigMap(job), BuildNetworkPolicy(job, kOptions),
        *BuildDisruptionBudgets(job).front().budget}) {
    EXPECT_FALSE(PatchTowards(Stored(wanted), wanted).has_value()) << wanted["kind"];
  }
}

// A policy engine would put it there again.
TEST(PatchTowards, LeavesTheValueOfALabelThatToolsShare) {
  const Json wanted = BuildService(Digits());
  Json live = Stored(wanted);
  live["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "helm";
  live["metadata"]["labels"]["app.kubernetes.io/instance"] = "fleet";
  EXPECT_FALSE(PatchTowards(live, wanted).has_value());
  live["metadata"]["labels"].erase("app.kubernetes.io/part-of");
  live["metadata"]["labels"]["paceline.dev/job"] = "figures";
  EXPECT_EQ((*PatchTowards(live, wanted))["metadata"]["labels"],
            (Json{{"app.kubernetes.io/part-of", "paceline"}, {"paceline.dev/job", "digits"}}));
}

// Each edit, and what brings it back: merged into what there is, it gives what was there.
TEST(PatchTowards, BringsBackWhatWasEditedAndNothingElse) {
  const job::TrainingJob job = Digits();
  const Json service = BuildService(job), map = BuildConfigMap(job);
  const Json policy = BuildNetworkPolicy(job, kOptions),
             budget = *BuildDisruptionBudgets(job).front().budget;
  struct Case {
    const char* edit;
    Json wanted;
    Json merge_patch;
  };
  Json more_ports = Stored(service)["spec"]["ports"];
  more_ports.push_back({{"port", 22}, {"name", "ssh"}, {"protocol", "TCP"}, {"targetPort", 22}});
  Json other_target = Stored(service)["spec"]["ports"];
  other_target[0]["targetPort"] = 22;
  Json narrowed = policy["spec"]["ingress"];
  narrowed[2]["from"] = Json::array({{{"podSelector", Json::object()}}});
  Json widened = policy["spec"]["ingress"];
  widened[0].erase("from");
  const Case cases[] = {
      {"a selector more", service, {{"spec", {{"selector", {{"tier", "gold"}}}}}}},
      {"a selector less", service, {{"spec", {{"selector", {{"paceline.dev/job", nullptr}}}}}}},
      {"a port more", service, {{"spec", {{"ports", more_ports}}}}},
      {"another target", service, {{"spec", {{"ports", other_target}}}}},
      {"a flag", service, {{"spec", {{"publishNotReadyAddresses", nullptr}}}}},
      {"an owner less", service, {{"metadata", {{"ownerReferences", nullptr}}}}},
      {"other data", map, {{"data", {{"job.json", "{}"}}}}},
      {"more data", map, {{"data", {{"other", "{}"}}}}},
      {"a label less", map, {{"metadata", {{"labels", {{"paceline.dev/job", nullptr}}}}}}},
      {"a rule narrowed", policy, {{"spec", {{"ingress", narrowed}}}}},
      {"a rule widened", policy, {{"spec", {{"ingress", widened}}}}},
      {"no rules", policy, {{"spec", {{"ingress", nullptr}}}}},
      {"other pods", policy, {{"spec", {{"podSelector", {{"matchLabels", {{"tier", "gold"}}}}}}}}},
      {"another minimum", budget, {{"spec", {{"minAvailable", 1}}}}},
  };
  for (const Case& one : cases) {
    const Json before = Stored(one.wanted);
    Json live = before;
    live.merge_patch(one.merge_patch);
    ASSERT_NE(live, before) << one.edit;
    live["metadata"]["resourceVersion"] = "8";
    const std::optional<Json> patch = PatchTowards(live, one.wanted);
    ASSERT_TRUE(patch.has_value()) << one.edit;
    EXPECT_EQ((*patch)["metadata"]["resourceVersion"], "8") << one.edit;
    live.merge_patch(*patch);
    EXPECT_FALSE(PatchTowards(live, one.wanted).has_value()) << one.edit;
  }
}

// Those of the operator's --pod-defaults: what a policy has made of them stays.
TEST(PatchTowards, LeavesTheValueOfWhatIsNotPacelinesOwn) {
  Json wanted = BuildService(Digits());
  wanted["metadata"]["labels"]["team"] = "vision";
  wanted["metadata"]["annotations"]["note"] = "all";
  wanted["metadata"]["annotations"]["paceline.dev/pod-defaults"] = "{}";
  Json live = Stored(wanted);
  live["metadata"]["labels"]["team"] = "theirs";
  live["metadata"]["annotations"]["note"] = "theirs";
  EXPECT_FALSE(PatchTowards(live, wanted).has_value());
  live["metadata"]["annotations"]["paceline.dev/pod-defaults"] = "other";
  live["metadata"]["labels"].erase("team");
  const Json patch = *PatchTowards(live, wanted);
  EXPECT_EQ(patch["metadata"]["labels"], (Json{{"team", "vision"}}));
  EXPECT_EQ(patch["metadata"]["annotations"], (Json{{"paceline.dev/pod-defaults", "{}"}}));
  // What was written from another plan is written anew, once.
  wanted["metadata"]["labels"]["team"] = "maps";
  MarkWanted(wanted);
  live["metadata"]["labels"]["team"] = "vision";
  live["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "helm";
  const Json anew = *PatchTowards(live, wanted);
  EXPECT_EQ(anew["metadata"]["labels"], (Json{{"team", "maps"}}));
  live.merge_patch(anew);
  live["metadata"]["labels"]["team"] = "theirs";
  EXPECT_FALSE(PatchTowards(live, wanted).has_value());
}

TEST(PatchTowards, LeavesLabelsAndAnnotationsOfOthers) {
  const Json wanted = BuildService(Digits());
  Json live = Stored(wanted);
  live["metadata"]["labels"]["example.com/cost"] = "12";
  live["metadata"]["annotations"]["example.com/seen"] = "yes";
  EXPECT_FALSE(PatchTowards(live, wanted).has_value());
}

}  // namespace
}  // namespace paceline::controller
