// As whom a pod's processes run, and whether they can read their keys: null in a template means
// that nothing is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

job::TrainingJob DigitsWith(const std::string& spec) {
  job::TrainingJob job = Digits();
  job.spec.parameter_server.pod_template = Yaml("spec: " + spec);
  return job;
}

Json SecurityOf(const std::string& spec) {
  return Pod(DigitsWith(spec), job::Role::kParameterServer)["spec"].value("securityContext",
                                                                          Json());
}

// Of the certificates and of the token.
std::vector<int> KeyModes(const std::string& spec) {
  std::vector<int> modes;
  const Json pod = Pod(DigitsWith(spec), job::Role::kParameterServer);
  for (const Json& volume : pod["spec"]["volumes"]) {
    if (volume.contains("secret")) modes.push_back(volume["secret"]["defaultMode"]);
  }
  return modes;
}

TEST(UserIdsTest, AreOursWhereNobodySaysAny) {
  const Json security = SecurityOf("{}");
  for (const char* const id : {"runAsUser", "runAsGroup", "fsGroup"})
    EXPECT_EQ(security[id], 65532);
  EXPECT_EQ(security["fsGroupChangePolicy"], "OnRootMismatch");
  EXPECT_THAT(KeyModes("{}"), ::testing::ElementsAre(0440, 0440));
}

TEST(UserIdsTest, AreLeftOutWhereATemplateSaysNull) {
  const std::string none = "{securityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}}";
  EXPECT_EQ(SecurityOf(none),
            (Json{{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}));
  // Nothing gives the files to a group then.
  EXPECT_THAT(KeyModes(none), ::testing::ElementsAre(0444, 0444));
  EXPECT_EQ(SecurityOf("{securityContext: {runAsUser: null}}")["fsGroup"], 65532);
}

TEST(UserIdsTest, AreTheTemplatesWhereItSaysThem) {
  const std::string theirs =
      "{securityContext: {runAsUser: 1000680000, runAsGroup: 0, fsGroup: 1000680000}}";
  EXPECT_EQ(SecurityOf(theirs)["runAsUser"], 1000680000);
  EXPECT_EQ(SecurityOf(theirs)["runAsGroup"], 0);
  EXPECT_EQ(SecurityOf(theirs)["fsGroup"], 1000680000);
  EXPECT_THAT(KeyModes(theirs), ::testing::ElementsAre(0440, 0440));
  EXPECT_EQ(SecurityOf("{securityContext: {fsGroupChangePolicy: Always}}")["fsGroupChangePolicy"],
            "Always");
  EXPECT_FALSE(
      SecurityOf("{securityContext: {fsGroupChangePolicy: null}}").contains("fsGroupChangePolicy"));
}

TEST(UserIdsTest, NullLeavesOutWhateverIsPacelinesByDefault) {
  const Json spec = Pod(DigitsWith(R"(
    securityContext: null
    enableServiceLinks: null
    terminationGracePeriodSeconds: null
    nodeSelector: null
    tolerations: null
    containers:
    - name: ps
      image: null
      command: null
      livenessProbe: null
      securityContext: {readOnlyRootFilesystem: null}
      resources: null
      volumeMounts: [{name: x, mountPath: null}]
      env: null
)"),
                        job::Role::kParameterServer)["spec"];
  for (const char* const field :
       {"securityContext", "enableServiceLinks", "terminationGracePeriodSeconds", "nodeSelector"})
    EXPECT_FALSE(spec.contains(field)) << field;
  EXPECT_EQ(spec["tolerations"].size(), 2u);  // The job's, spec.runPolicy.nodeLostSeconds.
  const Json& container = spec["containers"][0];
  for (const char* const field : {"livenessProbe", "resources"})
    EXPECT_FALSE(container.contains(field)) << field;
  EXPECT_EQ(container["image"], "ps:1");  // Without which there is no pod.
  EXPECT_EQ(container["command"], Json::array({"paceline-ps"}));
  EXPECT_FALSE(container["securityContext"].contains("readOnlyRootFilesystem"));
  EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
  EXPECT_NE(Named(container["env"], "PACELINE_NODE_NAME"), nullptr);
}

}  // namespace
}  // namespace paceline::controller
