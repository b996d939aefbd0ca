#include "operator/objects/defaults/pod_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/metadata.h"
#include "operator/objects/children.h"
#include "operator/objects/defaults/read_pod_defaults.h"
#include "operator/objects/names.h"
#include "operator/objects/objects_testing.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {
namespace {

using job::Role;
using ::testing::ElementsAre;

PodDefaults Defaults(const std::string& text) {
  ReadDefaults read = ReadPodDefaults(text);
  EXPECT_TRUE(read.errors.empty()) << ToString(read.errors.front());
  return read.defaults;
}

job::TrainingJob DigitsWith(const std::string& worker_template) {
  job::TrainingJob job = Digits();
  if (!worker_template.empty()) job.spec.workers.pod_template = Yaml(worker_template);
  return job;
}

Json PodOf(const std::string& defaults, Role role, const std::string& worker_template = "") {
  const PodDefaults read = Defaults(defaults);
  return BuildPod(WithDefaults(DigitsWith(worker_template), read), StartOf(role, 0),
                  WithDefaults(kOptions, read, role));
}

Json SpecOf(const std::string& defaults, const std::string& worker_template = "") {
  return PodOf(defaults, Role::kWorker, worker_template)["spec"];
}

const Json kLinux = Json::array({"kubernetes.io/os", "linux"});  // That of our own images.

std::vector<std::string> NamesOf(const Json& list) {
  std::vector<std::string> names;
  for (const Json& element : list) names.push_back(element["name"]);
  return names;
}

TEST(PodDefaultsTest, AreThoseOfAllRolesWithTheRolesOwnOverThem) {
  const std::string text = R"(
all: {nodeSelector: {pool: all, zone: a}, runtimeClassName: kata, imagePullSecrets: [{name: one}]}
workers: {nodeSelector: {pool: workers}, imagePullSecrets: [{name: two}]}
evaluator: {runtimeClassName: null}
)";
  const Json worker = PodOf(text, Role::kWorker)["spec"];
  EXPECT_EQ(worker["nodeSelector"], (Json{{"pool", "workers"}, {"zone", "a"}, kLinux}));
  EXPECT_EQ(worker["runtimeClassName"], "kata");
  EXPECT_THAT(NamesOf(worker["imagePullSecrets"]), ElementsAre("one", "two"));
  const Json server = PodOf(text, Role::kParameterServer)["spec"];
  EXPECT_EQ(server["nodeSelector"], (Json{{"pool", "all"}, {"zone", "a"}, kLinux}));
  EXPECT_FALSE(PodOf(text, Role::kEvaluator)["spec"].contains("runtimeClassName"));
}

TEST(PodDefaultsTest, TheTemplateWinsAndListsAreMergedByKey) {
  const std::string text = R"(
all:
  imagePullSecrets: [{name: one}, {name: two}]
  imagePullPolicy: Always
  nodeSelector: {pool: all, zone: a}
  tolerations:
  - {key: a, operator: Exists}
  - {key: b, value: x, effect: NoExecute, tolerationSeconds: 5}
  labels: {team: all, cost: "1"}
  annotations: {note: all, more: "1"}
  env: [{name: A, value: all}, {name: B, value: all}]
  runtimeClassName: kata
  priorityClassName: batch
  securityContext: {runAsUser: 7, fsGroup: 8}
)";
  const Json pod = PodOf(text, Role::kWorker, R"(
metadata: {labels: {team: mine}, annotations: {note: mine}}
spec:
  imagePullSecrets: [{name: two}, {name: three}]
  nodeSelector: {pool: mine}
  tolerations: [{key: b, operator: Equal, value: x, effect: NoExecute}, {key: b, value: other}]
  runtimeClassName: runc
  securityContext: {runAsUser: 9}
  containers: [{name: sidecar, image: x}, {name: worker, env: [{name: B, value: mine}, {name: C, value: $(A)}]}]
)");
  const Json& spec = pod["spec"];
  EXPECT_THAT(NamesOf(spec["imagePullSecrets"]), ElementsAre("one", "two", "three"));
  EXPECT_EQ(spec["nodeSelector"], (Json{{"pool", "mine"}, {"zone", "a"}, kLinux}));
  EXPECT_EQ(spec["runtimeClassName"], "runc");
  EXPECT_EQ(spec["priorityClassName"], "batch");
  EXPECT_EQ(spec["securityContext"]["runAsUser"], 9);
  EXPECT_EQ(spec["securityContext"]["fsGroup"], 8);
  EXPECT_EQ(pod["metadata"]["labels"]["team"], "mine");
  EXPECT_EQ(pod["metadata"]["labels"]["cost"], "1");
  EXPECT_EQ(pod["metadata"]["annotations"]["note"], "mine");
  EXPECT_EQ(pod["metadata"]["annotations"]["more"], "1");
  // Theirs has no end where the default's had one; ours of lost nodes come last.
  const Json& tolerations = spec["tolerations"];
  ASSERT_EQ(tolerations.size(), 5u);
  EXPECT_EQ(tolerations[0]["key"], "a");
  EXPECT_FALSE(tolerations[1].contains("tolerationSeconds"));
  EXPECT_EQ(tolerations[2]["value"], "other");
  EXPECT_EQ(spec["containers"][0], (Json{{"name", "sidecar"}, {"image", "x"}}));
  const Json& worker = spec["containers"][1];
  EXPECT_EQ(worker["imagePullPolicy"], "Always");
  std::vector<std::string> values;  // In an order in which C may refer to A.
  for (const Json& variable : worker["env"]) {
    if (variable["name"].get<std::string>().size() == 1) values.push_back(variable["value"]);
  }
  EXPECT_THAT(values, ElementsAre("all", "mine", "$(A)"));
}

TEST(PodDefaultsTest, NullInATemplateTakesADefaultAway) {
  const Json spec = SpecOf(R"(
all: {nodeSelector: {pool: all}, tolerations: [{key: a}], runtimeClassName: kata, env: [{name: A, value: b}]}
workers: {resources: {limits: {nvidia.com/gpu: 1, memory: 1Gi}}}
)",
                           R"(
spec:
  nodeSelector: null
  tolerations: null
  runtimeClassName: null
  containers: [{name: worker, env: null, resources: {limits: {nvidia.com/gpu: null}}}]
)");
  EXPECT_FALSE(spec.contains("nodeSelector") || spec.contains("runtimeClassName"));
  EXPECT_EQ(spec["tolerations"].size(), 2u);
  const Json& container = spec["containers"][0];
  EXPECT_EQ(Named(container["env"], "A"), nullptr);
  EXPECT_EQ(container["resources"], (Json{{"limits", {{"memory", "1Gi"}}}}));
  EXPECT_EQ(After(Arguments(spec.is_null() ? Json() : Json{{"spec", spec}}), "--device"), "cpu");
}

// OpenShift gives each namespace its own numbers.
TEST(PodDefaultsTest, NullLeavesUserIdsOutOfAllPodsButThoseWhoseTemplateSaysThem) {
  const std::string text =
      "all: {securityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}}";
  for (const Role role : {Role::kParameterServer, Role::kWorker, Role::kEvaluator}) {
    const Json security = PodOf(text, role)["spec"]["securityContext"];
    EXPECT_EQ(security,
              (Json{{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}));
  }
  EXPECT_EQ(SpecOf(text, "spec: {securityContext: {runAsUser: 5}}")["securityContext"]["runAsUser"],
            5);
}

// A request above a limit is refused by the API server.
TEST(PodDefaultsTest, AResourceIsOneSidesAsAWhole) {
  const std::string text =
      "workers: {resources: {limits: {cpu: 4, memory: 8Gi}, requests: {cpu: 4, memory: 4Gi}}}";
  const auto resources = [&](const std::string& theirs) {
    return SpecOf(text, "spec: {containers: [{name: worker, resources: " + theirs +
                            "}]}")["containers"][0]["resources"];
  };
  EXPECT_EQ(resources("{limits: {cpu: 1}}"),
            (Json{{"limits", {{"cpu", 1}, {"memory", "8Gi"}}}, {"requests", {{"memory", "4Gi"}}}}));
  EXPECT_EQ(resources("{requests: {cpu: 8}}"),
            (Json{{"limits", {{"memory", "8Gi"}}}, {"requests", {{"cpu", 8}, {"memory", "4Gi"}}}}));
}

TEST(PodDefaultsTest, ResourcesCountForDeviceAndThreads) {
  const std::string text = "workers: {resources: {limits: {nvidia.com/gpu: 1, cpu: 3}}}";
  const Json pod = PodOf(text, Role::kWorker);
  EXPECT_EQ(After(Arguments(pod), "--device"), "cuda");
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "cuda:1");
  const Json* const threads = Named(pod["spec"]["containers"][0]["env"], "OMP_NUM_THREADS");
  ASSERT_NE(threads, nullptr);
  EXPECT_EQ((*threads)["valueFrom"]["resourceFieldRef"]["resource"], "limits.cpu");
  EXPECT_EQ(After(Arguments(PodOf(text, Role::kEvaluator)), "--device"), "cpu");
}

TEST(PodDefaultsTest, AreOfEachGroupOfWorkersAndOfNoEvaluatorThatThereIsNot) {
  job::TrainingJob job = Digits();
  job.spec.evaluator.reset();
  for (const char* const name : {"big", "small"})
    job.spec.workers.groups.emplace_back().name = name;
  job = WithDefaults(job, Defaults("all: {nodeSelector: {a: b}}"));
  EXPECT_FALSE(job.spec.evaluator || job.spec.workers.pod_template);
  for (const job::WorkerGroup& group : job.spec.workers.groups)
    EXPECT_TRUE(group.pod_template.has_value()) << group.name;
}

TEST(PodDefaultsTest, AJobsOwnPriorityGoesBeforeADefault) {
  job::TrainingJob job = Digits();
  job.spec.run_policy.scheduling_policy.priority_class = "urgent";
  job = WithDefaults(job, Defaults("all: {priorityClassName: batch}"));
  EXPECT_EQ(Pod(job, Role::kWorker)["spec"]["priorityClassName"], "urgent");
}

TEST(PodDefaultsTest, OurOwnImagesComeFromTheirRegistryAndNoOtherDoes) {
  const PodDefaults defaults =
      Defaults("{all: {imageRegistry: mirror.local:5000/cache}, evaluator: {imageRegistry: null}}");
  const auto server_image = [&](const std::string& image, Role role = Role::kWorker) {
    return WithDefaults(ObjectOptions{.server_image = image}, defaults, role).server_image;
  };
  EXPECT_EQ(server_image("paceline/ps:1"), "mirror.local:5000/cache/paceline/ps:1");
  EXPECT_EQ(server_image("r.example.com/team/ps@sha256:0"),
            "mirror.local:5000/cache/team/ps@sha256:0");
  EXPECT_EQ(server_image("localhost/ps:1"), "mirror.local:5000/cache/ps:1");
  EXPECT_EQ(server_image("ps:1"), "mirror.local:5000/cache/ps:1");
  EXPECT_EQ(server_image("paceline/ps:1", Role::kEvaluator), "paceline/ps:1");
  EXPECT_EQ(WithDefaults(ObjectOptions{}, defaults, Role::kWorker).worker_cuda_image, "");
  const Json spec =
      SpecOf("all: {imageRegistry: m}", "spec: {containers: [{name: worker, image: mine:2}]}");
  EXPECT_EQ(spec["containers"][0]["image"], "mine:2");
}

TEST(PodDefaultsTest, WithoutAnyNothingChanges) {
  const job::TrainingJob job = Digits();
  EXPECT_EQ(WithDefaults(job, PodDefaults{}), job);
  Json map = BuildConfigMap(job);
  const Json before = map;
  RecordDefaults(map, PodDefaults{});
  LayUnder(map, PodDefaults{});
  EXPECT_EQ(map, before);
}

TEST(PodDefaultsTest, LabelsOfAllAreOnWhatStandsAroundPodsToo) {
  const PodDefaults defaults = Defaults(R"(
all: {labels: {team: vision, none: null}, annotations: {note: all}}
workers: {labels: {kind: worker}}
)");
  for (Json object :
       {BuildService(Digits()), BuildConfigMap(Digits()), BuildNetworkPolicy(Digits(), kOptions)}) {
    const Json before = object;
    LayUnder(object, defaults);
    const Json& labels = object["metadata"]["labels"];
    EXPECT_EQ(labels["team"], "vision");
    EXPECT_EQ(labels[std::string(kJobLabel)], "digits");
    EXPECT_FALSE(labels.contains("kind") || labels.contains("none"));
    EXPECT_EQ(object["metadata"]["annotations"]["note"], "all");
    EXPECT_FALSE(IsAsWanted(before, object));  // Which is how a change of them is seen.
  }
}

// A Secret's mark says nothing of its keys.
TEST(PodDefaultsTest, ASecretIsMarkedByItsLabelsAlone) {
  const auto mark_of = [](const std::string& token, const std::string& defaults) {
    Json secret = BuildTokenSecret(Digits(), token);
    LayUnder(secret, Defaults(defaults));
    return kube::Annotation(secret, std::string(kWantedAnnotation));
  };
  const std::string mark = mark_of("one", "all: {labels: {team: a}}");
  EXPECT_NE(mark, "");
  EXPECT_EQ(mark_of("two", "all: {labels: {team: a}}"), mark);
  EXPECT_NE(mark_of("one", "all: {labels: {team: b}}"), mark);
  EXPECT_EQ(mark_of("one", "all: {nodeSelector: {team: a}}"), "");
}

TEST(PodDefaultsTest, AreReadAgainFromTheConfigMap) {
  const PodDefaults defaults =
      Defaults("{all: {securityContext: {runAsUser: null}, env: [{name: A, value: \"1\"}]}}");
  Json map = BuildConfigMap(Digits());
  const Json before = map;
  RecordDefaults(map, defaults);
  EXPECT_EQ(Defaults(map["metadata"]["annotations"][std::string(kDefaultsAnnotation)]), defaults);
  EXPECT_EQ(map["data"], before["data"]);
  EXPECT_FALSE(IsAsWanted(before, map));
}

TEST(PodDefaultsTest, ImagesThatAJobWasBegunWithAreReadAgain) {
  PodDefaults defaults = Defaults("all: {imageRegistry: mirror.example.com}");
  defaults.images =
      ImagesOf({.server_image = "ps:1", .worker_image = "worker:1", .worker_cuda_image = "cuda:1"});
  Json map = {{"metadata", {{"name", "digits-job"}}}};
  RecordDefaults(map, defaults);
  PodDefaults read;
  EXPECT_TRUE(ReadRecord(map, read).empty());
  EXPECT_EQ(read, defaults);
  const ObjectOptions todays{
      .server_image = "ps:2", .worker_image = "worker:2", .worker_cuda_image = "cuda:2"};
  EXPECT_EQ(WithDefaults(todays, read, Role::kParameterServer).server_image,
            "mirror.example.com/ps:1");
  EXPECT_EQ(WithDefaults(todays, {}, Role::kWorker).worker_image, "worker:2");
  // What lies there is of another version, or somebody's.
  map["metadata"]["annotations"]["paceline.dev/pod-defaults"] = "{\"later\": 1}";
  EXPECT_EQ(ReadRecord(map, read).size(), 1u);
  EXPECT_EQ(read, PodDefaults{});
}

}  // namespace
}  // namespace paceline::controller
