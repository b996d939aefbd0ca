#include "operator/objects/defaults/read_pod_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/objects/defaults/reserved_keys.h"

namespace paceline::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const ReadDefaults read = ReadPodDefaults(text);
  std::string all;
  for (const job::FieldError& error : read.errors) all += ToString(error) + "\n";
  return all;
}

TEST(ReadPodDefaultsTest, TakesWhatAPodMayHave) {
  const ReadDefaults read = ReadPodDefaults(R"(
all:
  imagePullSecrets: [{name: registry}]
  imagePullPolicy: Always
  imageRegistry: mirror.example.com/cache
  nodeSelector: {pool: training}
  tolerations: [{key: dedicated, operator: Equal, value: training, effect: NoSchedule}]
  labels: {cost-center: "42", example.com/team: vision}
  annotations: {sidecar.istio.io/inject: "false"}
  env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}, {name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]
  priorityClassName: batch
  securityContext: {runAsUser: null, fsGroup: null, supplementalGroups: [5], seccompProfile: {type: RuntimeDefault}}
workers:
  runtimeClassName: nvidia
  resources: {limits: {nvidia.com/gpu: 1, memory: 8Gi}, requests: {cpu: 500m}}
evaluator: {runtimeClassName: null}
parameterServer: {}
)");
  EXPECT_TRUE(read.errors.empty()) << ToString(read.errors.front());
  const Json& sections = read.defaults.sections;
  EXPECT_TRUE(sections["all"]["securityContext"]["runAsUser"].is_null());
  EXPECT_EQ(sections["workers"]["resources"]["limits"]["nvidia.com/gpu"], 1);
  EXPECT_TRUE(sections["evaluator"].contains("runtimeClassName"));
  EXPECT_FALSE(sections.contains("parameterServer"));
}

// As Helm writes them.
TEST(ReadPodDefaultsTest, LargeNumbersAreWhole) {
  const ReadDefaults read = ReadPodDefaults(R"(
all: {securityContext: {runAsUser: 1.00068e+09, supplementalGroups: [1e+03]}}
workers: {resources: {limits: {memory: 8.589934592e+09}}}
)");
  EXPECT_TRUE(read.errors.empty());
  EXPECT_EQ(read.defaults.sections["all"]["securityContext"].dump(),
            R"({"runAsUser":1000680000,"supplementalGroups":[1000]})");
  EXPECT_EQ(read.defaults.sections["workers"]["resources"]["limits"]["memory"].dump(),
            "8589934592");
  EXPECT_THAT(ErrorOf("all: {securityContext: {runAsUser: 1.5}}"), HasSubstr("got 1.5"));
}

TEST(ReadPodDefaultsTest, NothingIsNoDefault) {
  for (const char* const text : {"{}", "null", "all: null", "all: {}"}) {
    const ReadDefaults read = ReadPodDefaults(text);
    EXPECT_TRUE(read.errors.empty() && read.defaults.IsEmpty()) << text;
  }
}

TEST(ReadPodDefaultsTest, RefusesByPathAndValue) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"everything: {}", "everything: is not known: got {}"},
      {"all: [1]", "all: must be an object: got [1]"},
      {"worker: {env: []}", "worker: is not known"},
      {"all: {nodeSelectors: {a: b}}", "all.nodeSelectors: is not known: got {\"a\":\"b\"}"},
      {"all: {nodeSelector: {pool: 3}}", "all.nodeSelector[\"pool\"]: must be a string: got 3"},
      {"all: {nodeSelector: {pool: a b}}", "all.nodeSelector[\"pool\"]: must be a label's value"},
      {"all: {labels: {\"a/\": b}}", "all.labels[\"a/\"]: must have the key of a label"},
      {"all: {imagePullSecrets: [registry]}", "all.imagePullSecrets[0]: must be an object"},
      {"all: {imagePullSecrets: [{}]}", "all.imagePullSecrets[0].name: is required"},
      {"all: {imagePullSecrets: [{name: A_b}]}", "all.imagePullSecrets[0].name: must be the name"},
      {"all: {imagePullSecrets: [{name: a, data: b}]}",
       "all.imagePullSecrets[0].data: is not known"},
      {"all: {imagePullPolicy: Sometimes}", "must be Always, IfNotPresent or Never"},
      {"all: {imageRegistry: \"https://a.b\"}", "all.imageRegistry: must be a registry"},
      {"workers: {tolerations: {key: a}}", "workers.tolerations: must be a list"},
      {"workers: {tolerations: [{tolerationSeconds: soon}]}",
       "workers.tolerations[0].tolerationSeconds: must be a whole number: got \"soon\""},
      {"all: {tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]}",
       "spec.runPolicy.nodeLostSeconds says"},
      {"workers: {resources: {claims: []}}", "workers.resources.claims: is not known"},
      {"workers: {resources: {limits: {cpu: [4]}}}",
       "workers.resources.limits[\"cpu\"]: must be a quantity"},
      {"all: {env: [{name: A, value: 1}]}", "all.env[0].value: must be a string: got 1"},
      {"all: {env: [{name: PACELINE_RANK, value: a}]}", "must not be one that Paceline's"},
      {"all: {env: [{value: a}]}", "all.env[0].name: is required"},
      {"all: {securityContext: {runAsUser: root}}",
       "all.securityContext.runAsUser: must be a whole number: got \"root\""},
      {"all: {securityContext: {privileged: true}}",
       "all.securityContext.privileged: is not known"},
      {"all: {securityContext: {supplementalGroups: [a]}}", "must be a list of whole numbers"},
      {"evaluator: {securityContext: {runAsNonRoot: \"yes\"}}", "must be true or false"},
      {"all: {annotations: {a: true}}", "all.annotations[\"a\"]: must be a string: got true"},
      {"all: {labels: {paceline.dev/job: mine}}",
       "all.labels[\"paceline.dev/job\"]: must not be set"},
      {"workers: {annotations: {x.paceline.dev/y: z}}",
       "workers.annotations[\"x.paceline.dev/y\"]: must not be set"},
      {"all: [", "line 1"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(ErrorOf(text), HasSubstr(error)) << text;
  EXPECT_THAT(ErrorOf("all: {labels: {big: " + std::string(70000, 'x') + "}}"),
              HasSubstr("must be"));
  EXPECT_THAT(ErrorOf("all: {annotations: {big: " + std::string(70000, 'x') + "}}"),
              HasSubstr("must be at most 65536 bytes"));
}

TEST(ReadPodDefaultsTest, WhatIsRightStaysBesideWhatIsNot) {
  const ReadDefaults read =
      ReadPodDefaults("all: {nodeSelector: {a: b, c: 3}, future: 1, env: [{name: A}, {nome: B}]}");
  EXPECT_EQ(read.errors.size(), 3u);
  EXPECT_EQ(
      read.defaults.sections,
      (Json{{"all", {{"nodeSelector", {{"a", "b"}}}, {"env", Json::array({{{"name", "A"}}})}}}}));
}

TEST(ReservedKeysTest, AreWhatPacelineSetsAndWhatToolsTrackBy) {
  for (const char* const key :
       {"paceline.dev/job", "sub.paceline.dev/x", "app.kubernetes.io/name",
        "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/component",
        "app.kubernetes.io/part-of", "argocd.argoproj.io/instance",
        "argocd.argoproj.io/tracking-id", "kustomize.toolkit.fluxcd.io/name",
        "helm.toolkit.fluxcd.io/name", "applyset.kubernetes.io/part-of", "kapp.k14s.io/app",
        "meta.helm.sh/release-name", "volcano.sh/task-spec", "kueue.x-k8s.io/pod-group-name"})
    EXPECT_NE(WhyReserved(key), "") << key;
  for (const char* const key :
       {"team", "example.com/paceline.dev", "notpaceline.dev/x", "app.kubernetes.io/version",
        "kueue.x-k8s.io/queue-name", "karpenter.sh/do-not-disrupt", "paceline.dev"})
    EXPECT_EQ(WhyReserved(key), "") << key;
}

}  // namespace
}  // namespace paceline::controller
