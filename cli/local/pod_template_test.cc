#include "cli/local/pod_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/local/references.h"
#include "lib/job/manifest/yaml.h"

namespace paceline::local {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TemplateReading Read(const std::string& yaml, job::Role role = job::Role::kWorker) {
  VolumeFolders volumes = VolumeFolders::Parse({"digits-data=/data/digits"}, "/claims").value();
  return ReadTemplate("spec.workers.template", job::ParseYaml(yaml).root, role, false,
                      "/run/volumes", volumes);
}

std::vector<std::string> Errors(const TemplateReading& reading) {
  std::vector<std::string> texts;
  for (const job::FieldError& error : reading.errors) texts.push_back(ToString(error));
  return texts;
}

TEST(PodTemplate, EnvironmentAndArgumentsAreThoseOfPacelinesContainer) {
  const TemplateReading reading = Read(R"(
spec:
  containers:
  - name: worker
    env:
    - {name: LEVEL, value: "3"}
    - {name: MESSAGE, value: level $(LEVEL) of $(NOBODY) for $$5}
    - {name: EMPTY}
    args: ["--log-format", json]
)");
  EXPECT_THAT(Errors(reading), IsEmpty());
  EXPECT_THAT(reading.environment,
              ElementsAre(Pair("LEVEL", "3"), Pair("MESSAGE", "level 3 of $(NOBODY) for $5"),
                          Pair("EMPTY", "")));
  EXPECT_THAT(reading.arguments, ElementsAre("--log-format", "json"));
  EXPECT_THAT(reading.ignored, IsEmpty());
}

TEST(PodTemplate, VolumesLeadToFoldersOfThisMachine) {
  const TemplateReading reading = Read(R"(
spec:
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: digits-data}}
  - {name: models, persistentVolumeClaim: {claimName: models}}
  - {name: host, hostPath: {path: /srv/cache}}
  - {name: scratch, emptyDir: {}}
  containers:
  - name: worker
    volumeMounts:
    - {name: data, mountPath: /data/}
    - {name: models, mountPath: /data/models, subPath: current}
    - {name: host, mountPath: /cache, readOnly: true}
    - {name: scratch, mountPath: /scratch}
    env: [{name: CACHE, value: /cache/torch}, {name: OTHER, value: /cached}]
)");
  EXPECT_THAT(Errors(reading), IsEmpty());
  EXPECT_EQ(Mapped("/data/train.npy", reading.mounts), "/data/digits/train.npy");
  EXPECT_EQ(Mapped("/data", reading.mounts), "/data/digits");
  EXPECT_EQ(Mapped("/data/models/cnn.pt", reading.mounts), "/claims/models/current/cnn.pt");
  EXPECT_EQ(Mapped("/scratch/x", reading.mounts), "/run/volumes/worker-scratch/x");
  EXPECT_EQ(Mapped("/database/x", reading.mounts), "/database/x");
  EXPECT_EQ(Mapped("data/x", reading.mounts), "data/x");
  EXPECT_THAT(reading.environment,
              ElementsAre(Pair("CACHE", "/srv/cache/torch"), Pair("OTHER", "/cached")));
  EXPECT_THAT(reading.ignored,
              ElementsAre("spec.workers.template.spec.containers[0].volumeMounts[2].readOnly"));
}

TEST(PodTemplate, WhatOnlyAClusterKnowsIsIgnored) {
  const TemplateReading reading = Read(R"(
metadata: {labels: {team: vision}}
spec:
  nodeSelector: {gpu: h100}
  tolerations: []
  containers: [{name: worker, image: "paceline:1", resources: {limits: {cpu: 4}}, stdin: null}]
)");
  EXPECT_THAT(Errors(reading), IsEmpty());
  EXPECT_THAT(reading.ignored,
              UnorderedElementsAre("spec.workers.template.metadata",
                                   "spec.workers.template.spec.nodeSelector",
                                   "spec.workers.template.spec.tolerations",
                                   "spec.workers.template.spec.containers[0].image",
                                   "spec.workers.template.spec.containers[0].resources"));
}

struct Refused {
  const char* name;
  const char* spec;
  const char* error;  // Behind "spec.workers.template.spec.".
};

TEST(PodTemplate, WhatCannotBeDoneIsRefusedByItsPath) {
  const Refused cases[] = {
      {"init container", "{initContainers: [{name: fetch}]}",
       "initContainers: needs a cluster: paceline run cannot do it on one machine"},
      {"sidecar", "{containers: [{name: worker}, {name: proxy}]}",
       "containers[1].name: must be worker on one machine, other containers need a cluster: got "
       "\"proxy\""},
      {"command", "{containers: [{name: worker, command: [sh]}]}",
       "containers[0].command: must be absent, paceline run starts its own program: use args"},
      {"variable of a Secret",
       "{containers: [{name: worker, env: [{name: A, valueFrom: {secretKeyRef: {}}}]}]}",
       "containers[0].env[0].valueFrom: needs a cluster: on one machine, give the value itself"},
      {"number as a variable", "{containers: [{name: worker, env: [{name: A, value: 1}]}]}",
       "containers[0].env[0].value: must be a string, put it in quotes: got 1"},
      {"variable without a name", "{containers: [{name: worker, env: [{value: a}]}]}",
       "containers[0].env[0].name: is required"},
      {"list that is none", "{containers: [{name: worker, env: a}]}",
       "containers[0].env: must be a list: got \"a\""},
      {"argument of ours", "{containers: [{name: worker, args: [\"--index=3\"]}]}",
       "containers[0].args[0]: must be one of --log-format, paceline run sets the others: got "
       "--index"},
      {"ConfigMap", "{volumes: [{name: c, configMap: {name: c}}]}",
       "volumes[0].configMap: needs a cluster: paceline run cannot do it on one machine"},
      {"claim without a name", "{volumes: [{name: c, persistentVolumeClaim: {}}]}",
       "volumes[0].persistentVolumeClaim.claimName: is required"},
      {"mount of nothing",
       "{containers: [{name: worker, volumeMounts: [{name: a, mountPath: /a}]}]}",
       "containers[0].volumeMounts[0].name: must be one of the template's volumes, of which it has "
       "none: got \"a\""},
      {"relative mount",
       "{volumes: [{name: a, emptyDir: {}}], containers: [{name: worker, volumeMounts: [{name: a, "
       "mountPath: a}]}]}",
       "containers[0].volumeMounts[0].mountPath: must be an absolute path: got \"a\""},
      {"way out of a volume",
       "{volumes: [{name: a, emptyDir: {}}], containers: [{name: worker, volumeMounts: [{name: a, "
       "mountPath: /a, subPath: b/../../c}]}]}",
       "containers[0].volumeMounts[0].subPath: must be a path within the volume, without .. and "
       "not absolute: got \"b/../../c\""},
      {"absolute part of a volume",
       "{volumes: [{name: a, emptyDir: {}}], containers: [{name: worker, volumeMounts: [{name: a, "
       "mountPath: /a, subPath: /etc}]}]}",
       "containers[0].volumeMounts[0].subPath: must be a path within the volume, without .. and "
       "not absolute: got \"/etc\""},
  };
  for (const Refused& refused : cases) {
    EXPECT_THAT(Errors(Read(std::string("spec: ") + refused.spec)),
                ElementsAre(std::string("line 1: spec.workers.template.spec.") + refused.error))
        << refused.name;
  }
}

TEST(PodTemplate, AMountOfARefusedVolumeIsNotRefusedAgain) {
  EXPECT_THAT(Errors(Read("spec: {volumes: [{name: c, secret: {}}], containers: [{name: worker, "
                          "volumeMounts: [{name: c, mountPath: /c}]}]}")),
              ElementsAre("line 1: spec.workers.template.spec.volumes[0].secret: needs a cluster: "
                          "paceline run cannot do it on one machine"));
}

TEST(PodTemplate, OfAParameterServerMayChooseWhereMetricsAreServed) {
  const TemplateReading reading =
      Read("spec: {containers: [{name: ps, args: [\"--http-host=0.0.0.0\"]}]}",
           job::Role::kParameterServer);
  EXPECT_THAT(Errors(reading), IsEmpty());
  EXPECT_THAT(reading.arguments, ElementsAre("--http-host=0.0.0.0"));
}

TEST(References, WithoutAnEndStayAsTheyAre) {
  EXPECT_EQ(ExpandReferences("a$(B", {{"B", "1"}}), "a$(B");
  EXPECT_EQ(ExpandReferences("$", {}), "$");
  EXPECT_EQ(ExpandReferences("$$(B)", {{"B", "1"}}), "$(B)");
  EXPECT_EQ(ExpandReferences("$(B)$(B)", {{"B", "1"}, {"B", "2"}}), "22");
}

}  // namespace
}  // namespace paceline::local
