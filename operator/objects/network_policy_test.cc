// Who may come to a job's parameter servers.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "operator/objects/children.h"
#include "operator/objects/names.h"
#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

// Who is let to the port that takes orders.
Json LetToApi(const ObjectOptions& options) {
  const Json policy = BuildNetworkPolicy(Digits(), options);
  for (const Json& rule : policy["spec"]["ingress"]) {
    if (rule.contains("from") && rule["ports"][0]["port"] == kApiPort) return rule["from"];
  }
  return {};
}

// What else runs in the operator's namespace is no operator.
TEST(NetworkPolicy, LetsOnlyTheOperatorsPodsToTheApi) {
  const Json in_namespace = {{"matchLabels", {{"kubernetes.io/metadata.name", "paceline-system"}}}};
  const std::map<std::string, std::string> labels = {{"app.kubernetes.io/component", "operator"},
                                                     {"app.kubernetes.io/instance", "second"}};
  // One peer with both: two peers would let in either.
  EXPECT_EQ(LetToApi({.operator_labels = labels}),
            Json::array({{{"namespaceSelector", in_namespace},
                          {"podSelector", {{"matchLabels", labels}}}}}));
}

// An operator that nobody has told its labels would shut itself out.
TEST(NetworkPolicy, LetsTheOperatorsNamespaceToTheApiWhereItsLabelsAreUnknown) {
  const Json in_namespace = {{"matchLabels", {{"kubernetes.io/metadata.name", "elsewhere"}}}};
  EXPECT_EQ(LetToApi({.operator_namespace = "elsewhere"}),
            Json::array({{{"namespaceSelector", in_namespace}}}));
}

}  // namespace
}  // namespace paceline::controller
