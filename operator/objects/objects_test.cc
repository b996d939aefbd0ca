#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/manifest/encode.h"
#include "lib/job/process_name.h"
#include "operator/objects/children.h"
#include "operator/objects/names.h"
#include "operator/objects/objects_testing.h"
#include "operator/objects/pods/pod.h"
#include "operator/objects/pods/pod_group.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(PodTest, ComputesOnTheGpuThatItsTemplateAsksFor) {
  job::TrainingJob job = Digits();
  EXPECT_EQ(After(Arguments(Pod(job, job::Role::kWorker)), "--device"), "cpu");
  job.spec.workers.pod_template = Yaml(R"(
spec:
  containers:
  - name: worker
    resources: {limits: {nvidia.com/gpu: 1}}
)");
  EXPECT_EQ(After(Arguments(Pod(job, job::Role::kWorker)), "--device"), "cuda");
  EXPECT_EQ(After(Arguments(Pod(job, job::Role::kEvaluator)), "--device"), "cpu");
  job.spec.workers.pod_template = Yaml(R"(
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers: [{name: worker, resources: {claims: [{name: gpu}]}}]
)");
  EXPECT_EQ(After(Arguments(Pod(job, job::Role::kWorker)), "--device"), "cuda-if-usable");
}

TEST(PodTest, IsTheJobsChildAndCarriesItsStart) {
  const Json pod = Pod(Digits(), job::Role::kWorker, 3);
  EXPECT_EQ(pod["metadata"]["name"], "digits-worker-3");
  EXPECT_EQ(pod["metadata"]["namespace"], "research");
  EXPECT_TRUE(IsControlledBy(pod, "uid-1"));
  EXPECT_FALSE(IsControlledBy(pod, "uid-2"));
  EXPECT_FALSE(IsControlledBy(pod, ""));
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["blockOwnerDeletion"], true);
  EXPECT_EQ(pod["metadata"]["labels"]["paceline.dev/role"], "worker");
  EXPECT_EQ(pod["metadata"]["labels"]["paceline.dev/group"], "worker");
  EXPECT_EQ(pod["metadata"]["labels"]["paceline.dev/index"], "3");
  EXPECT_EQ(pod["metadata"]["annotations"]["paceline.dev/generation-start"], "3");
  EXPECT_EQ(pod["metadata"]["annotations"]["paceline.dev/attempt"], "2");
  EXPECT_EQ(pod["metadata"]["annotations"]["paceline.dev/failures"], "1");
  EXPECT_EQ(pod["metadata"]["annotations"]["paceline.dev/unfit"], "4");
  EXPECT_EQ(pod["metadata"]["annotations"]["paceline.dev/disruptions"], "5");
  EXPECT_EQ(pod["spec"]["hostname"], "digits-worker-3");
  EXPECT_EQ(pod["spec"]["subdomain"], "digits");
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
}

// What labels, pod and certificate say is the same (group, index).
TEST(PodTest, NameLabelsAndCertificateNameOneProcess) {
  for (const auto& [role, index, process] : {std::tuple(job::Role::kParameterServer, 1, "ps-1"),
                                             std::tuple(job::Role::kWorker, 3, "worker-3"),
                                             std::tuple(job::Role::kEvaluator, 0, "evaluator")}) {
    const Json pod = Pod(Digits(), role, index);
    EXPECT_EQ(pod["metadata"]["name"], fmt::format("digits-{}", process));
    EXPECT_EQ(TlsName(Digits(), {TlsRoleOf(role), static_cast<uint64_t>(index)}),
              fmt::format("{}.digits.research", process));
    const Json& labels = pod["metadata"]["labels"];
    EXPECT_EQ(
        job::ProcessName("digits", {.group = labels["paceline.dev/group"],
                                    .index = std::stoi(std::string(labels["paceline.dev/index"]))}),
        pod["metadata"]["name"]);
    EXPECT_EQ(job::GroupOf(role), tls::GroupOf(TlsRoleOf(role)));
  }
}

TEST(PodTest, IsRestrictedAndWithoutCredentialsByDefault) {
  for (const job::Role role :
       {job::Role::kParameterServer, job::Role::kWorker, job::Role::kEvaluator}) {
    const Json pod = Pod(Digits(), role);
    const Json& security = pod["spec"]["containers"][0]["securityContext"];
    EXPECT_EQ(pod["spec"]["automountServiceAccountToken"], false);
    EXPECT_EQ(pod["spec"]["securityContext"]["runAsNonRoot"], true);
    EXPECT_EQ(pod["spec"]["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    EXPECT_EQ(security["allowPrivilegeEscalation"], false);
    EXPECT_EQ(security["readOnlyRootFilesystem"], true);
    EXPECT_EQ(security["capabilities"]["drop"], Json::array({"ALL"}));
  }
}

TEST(PodTest, ServersAreToldWhoTheyAre) {
  const std::vector<std::string> first = Arguments(Pod(Digits(), job::Role::kParameterServer, 0));
  EXPECT_EQ(After(first, "--rank"), "0");
  EXPECT_EQ(After(first, "--generation-start"), "3");
  EXPECT_EQ(After(first, "--advertise"), "digits-ps-0.digits.research.svc:7600");
  EXPECT_EQ(After(first, "--api-port"), "7601");
  EXPECT_EQ(After(first, "--tls-folder"), "/paceline/tls");
  EXPECT_THAT(first, Not(Contains("--coordinator")));
  EXPECT_THAT(first, Not(Contains("--checkpoint")));
  const std::vector<std::string> second = Arguments(Pod(Digits(), job::Role::kParameterServer, 1));
  EXPECT_EQ(After(second, "--rank"), "1");
  EXPECT_EQ(After(second, "--coordinator"), "digits-ps-0.digits.research.svc:7600");
  EXPECT_THAT(second, Not(Contains("--output")));
}

TEST(PodTest, WithoutMtlsTheCoordinatorAloneHasATokenAndNobodyACertificate) {
  job::TrainingJob job = Digits();
  job.spec.security.mtls = job::Toggle::kDisabled;
  const Json pod = Pod(job, job::Role::kParameterServer);
  EXPECT_THAT(Arguments(pod), Not(Contains("--tls-folder")));
  EXPECT_EQ(After(Arguments(pod), "--api-port"), "7601");
  EXPECT_EQ(After(Arguments(pod), "--token-file"), "/paceline/token/token");
  EXPECT_EQ(Named(pod["spec"]["volumes"], "paceline-tls"), nullptr);
  const Json* const volume = Named(pod["spec"]["volumes"], "paceline-token");
  ASSERT_NE(volume, nullptr);
  EXPECT_EQ((*volume)["secret"]["secretName"], "digits-token");
  for (const Json& other : {Pod(job, job::Role::kParameterServer, 1), Pod(job, job::Role::kWorker),
                            Pod(job, job::Role::kEvaluator)}) {
    EXPECT_EQ(Named(other["spec"]["volumes"], "paceline-token"), nullptr);
    EXPECT_THAT(Arguments(other), Not(Contains("--token-file")));
  }
  // With certificates, only where it opens a model.
  job.spec.security.mtls = job::Toggle::kEnabled;
  job.spec.output.volume.emplace().persistent_volume_claim = job::Claim{.claim_name = "out"};
  EXPECT_THAT(Arguments(Pod(job, job::Role::kParameterServer)), Not(Contains("--token-file")));
}

TEST(PodTest, MountsItsOwnItemsOfOneSecretAndNothingElse) {
  const struct {
    job::Role role;
    int64_t index;
    const char* secret;
  } cases[] = {{job::Role::kParameterServer, 1, "digits-ps-tls-0"},
               {job::Role::kWorker, 0, "digits-worker-tls-0"},
               {job::Role::kWorker, 255, "digits-worker-tls-0"},
               {job::Role::kWorker, 256, "digits-worker-tls-1"},
               {job::Role::kEvaluator, 0, "digits-evaluator-tls-0"}};
  for (const auto& [role, index, name] : cases) {
    std::vector<Json> secrets;
    const Json pod = Pod(Digits(), role, index);
    for (const Json& volume : pod["spec"]["volumes"]) {
      if (volume.contains("secret")) secrets.push_back(volume["secret"]);
      EXPECT_FALSE(volume.contains("projected")) << name;  // May hide a Secret.
    }
    ASSERT_EQ(secrets.size(), 1u) << name;
    EXPECT_EQ(secrets[0]["secretName"], name);
    const std::string own = std::to_string(index);
    EXPECT_EQ(secrets[0]["items"], Json::array({{{"key", own + ".crt"}, {"path", "tls.crt"}},
                                                {{"key", own + ".key"}, {"path", "tls.key"}},
                                                {{"key", "ca.crt"}, {"path", "ca.crt"}}}));
  }
}

TEST(TlsBlocksTest, AreIssuedAheadToTheMostWorkersThereMayBe) {
  job::TrainingJob job = Digits();
  job.spec.parameter_server.shards = 2;
  job.spec.workers.replicas = 3;
  job.spec.workers.max_replicas = 600;
  job.spec.evaluator.emplace();
  using tls::Role;
  EXPECT_THAT(TlsBlocksOf(job),
              ElementsAre(TlsBlock{Role::kPs, 0, 2}, TlsBlock{Role::kWorker, 0, 256},
                          TlsBlock{Role::kWorker, 1, 256}, TlsBlock{Role::kWorker, 2, 88},
                          TlsBlock{Role::kEvaluator, 0, 1}));
  job.spec.workers.max_replicas.reset();
  job.spec.evaluator.reset();
  EXPECT_THAT(TlsBlocksOf(job),
              ElementsAre(TlsBlock{Role::kPs, 0, 2}, TlsBlock{Role::kWorker, 0, 3}));
}

TEST(TlsSecretTest, IsReadAsItWasWrittenAndByNobodyWhoLacksTheSeal) {
  const job::TrainingJob job = Digits();
  const IssuedBlock issued{.credentials = {{"first", "first key"}, {"second", "second key"}},
                           .renew_at = Time(std::chrono::seconds(1'900'000'000))};
  const Json secret = BuildTlsSecret(job, {tls::Role::kWorker, 1, 0}, issued, "authority", "seal");
  EXPECT_EQ(secret["type"], "Opaque");  // The one for TLS holds one pair.
  EXPECT_EQ(secret["data"].size(), 5u);
  EXPECT_TRUE(secret["data"].contains("256.crt") && secret["data"].contains("257.key"));
  const auto read = ReadTlsSecret(job, {tls::Role::kWorker, 1, 0}, secret, "seal");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->credentials.size(), 2u);
  EXPECT_EQ(read->credentials[1].certificate, "second");
  EXPECT_EQ(read->credentials[1].key, "second key");
  EXPECT_EQ(read->renew_at, issued.renew_at);
  EXPECT_FALSE(ReadTlsSecret(job, {tls::Role::kWorker, 1, 0}, secret, "other").has_value());
  EXPECT_FALSE(ReadTlsSecret(job, {tls::Role::kWorker, 0, 0}, secret, "seal").has_value());
  EXPECT_FALSE(ReadTlsSecret(job, {tls::Role::kPs, 1, 0}, secret, "seal").has_value());
  job::TrainingJob other = job;
  other.metadata.uid = "another";
  EXPECT_FALSE(ReadTlsSecret(other, {tls::Role::kWorker, 1, 0}, secret, "seal").has_value());
  for (const char* const place :
       {"/data/256.crt", "/data/ca.crt", "/metadata/annotations/paceline.dev~1renew-at",
        "/metadata/annotations/paceline.dev~1seal"}) {
    Json changed = secret;
    changed[Json::json_pointer(place)] = "MTkwMDAwMDAwMQ==";
    EXPECT_FALSE(ReadTlsSecret(job, {tls::Role::kWorker, 1, 0}, changed, "seal").has_value())
        << place;
    changed[Json::json_pointer(place).parent_pointer()].erase(Json::json_pointer(place).back());
    EXPECT_FALSE(ReadTlsSecret(job, {tls::Role::kWorker, 1, 0}, changed, "seal").has_value())
        << place;
  }
}

TEST(TlsSecretTest, FullBlockStaysBelowWhatASecretMayHold) {
  const std::string certificate(900, 'c'), key(260, 'k');  // Real ones: 690 to 860, and 241.
  const IssuedBlock issued{
      .credentials = std::vector<tls::Credential>(kIdentitiesPerSecret, {certificate, key}),
      .renew_at = Time(std::chrono::seconds(1))};
  const Json secret =
      BuildTlsSecret(Digits(), {tls::Role::kWorker, 3, 0}, issued, certificate, "seal");
  EXPECT_LT(secret.dump().size(), 1u << 20);
}

TEST(PodTest, TemplateIsKeptAndLaidOver) {
  job::TrainingJob job = Digits();
  job.spec.workers.pod_template = Yaml(R"(
metadata:
  labels: {team: vision, paceline.dev/role: mine, paceline.dev/group: mine, kueue.x-k8s.io/queue-name: q}
  annotations: {note: hello}
spec:
  runtimeClassName: nvidia
  nodeSelector: {gpu: a100}
  imagePullSecrets: [{name: pull}]
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  volumes: [{name: data, emptyDir: {}}]
  containers:
  - name: sidecar
    image: sidecar:1
  - name: worker
    image: mine:2
    args: [--log-format, text]
    env: [{name: OMP_NUM_THREADS, value: "3"}]
    resources: {limits: {nvidia.com/gpu: 1}}
    volumeMounts: [{name: data, mountPath: /data}]
    securityContext: {readOnlyRootFilesystem: false}
)");
  const Json pod = Pod(job, job::Role::kWorker, 1);
  EXPECT_EQ(pod["metadata"]["labels"]["team"], "vision");
  EXPECT_EQ(pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "q");
  EXPECT_EQ(pod["metadata"]["labels"]["paceline.dev/role"], "worker");
  EXPECT_EQ(pod["metadata"]["labels"]["paceline.dev/group"], "worker");
  EXPECT_EQ(pod["metadata"]["annotations"]["note"], "hello");
  EXPECT_EQ(pod["spec"]["runtimeClassName"], "nvidia");
  EXPECT_EQ(pod["spec"]["nodeSelector"]["gpu"], "a100");
  EXPECT_EQ(pod["spec"]["tolerations"].size(), 3u);
  ASSERT_EQ(pod["spec"]["containers"].size(), 2u);
  EXPECT_EQ(pod["spec"]["containers"][0], (Json{{"name", "sidecar"}, {"image", "sidecar:1"}}));
  const Json& worker = pod["spec"]["containers"][1];
  EXPECT_EQ(worker["image"], "mine:2");
  EXPECT_EQ(worker["resources"]["limits"]["nvidia.com/gpu"], 1);
  EXPECT_EQ(worker["securityContext"]["readOnlyRootFilesystem"], false);
  EXPECT_EQ(worker["securityContext"]["allowPrivilegeEscalation"], false);
  EXPECT_EQ((*Named(worker["env"], "OMP_NUM_THREADS"))["value"], "3");
  EXPECT_EQ(std::count_if(worker["env"].begin(), worker["env"].end(),
                          [](const Json& v) { return v["name"] == "OMP_NUM_THREADS"; }),
            1);
  EXPECT_NE(Named(worker["volumeMounts"], "data"), nullptr);
  EXPECT_NE(Named(worker["volumeMounts"], "paceline-config"), nullptr);
  const std::vector<std::string> arguments = Arguments(pod, 1);
  EXPECT_EQ(arguments[arguments.size() - 1], "text");
}

TEST(PodTest, NodeLostSecondsBecomeTolerations) {
  job::TrainingJob job = Digits();
  job.spec.run_policy.node_lost_seconds = 17;
  const Json tolerations = Pod(job, job::Role::kWorker)["spec"]["tolerations"];
  EXPECT_FALSE(tolerations.empty());
  for (const Json& toleration : tolerations) EXPECT_EQ(toleration["tolerationSeconds"], 17);
}

TEST(PodTest, AvoidedNodeIsRuledOutInEveryTermOfTheTemplate) {
  job::TrainingJob job = Digits();
  job::Start start = StartOf(job::Role::kWorker, 1);
  start.avoid_node = "node-2";
  const Json elsewhere = {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", {"node-2"}}};
  const auto affinity = [&] {
    return BuildPod(job, start, kOptions).at("spec").at("affinity").at("nodeAffinity");
  };
  const std::string required = "requiredDuringSchedulingIgnoredDuringExecution";
  EXPECT_EQ(affinity().at(required).at("nodeSelectorTerms"),
            Json::array({{{"matchFields", Json::array({elsewhere})}}}));
  job.spec.workers.pod_template = Yaml(R"(
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [a]}]
        - matchFields: [{key: metadata.name, operator: In, values: [node-1]}]
        - {}
        - matchExpressions: []
)");
  const Json terms = affinity().at(required).at("nodeSelectorTerms");
  EXPECT_EQ(terms.at(0).at("matchExpressions").at(0).at("key"), "zone");
  EXPECT_EQ(terms.at(0).at("matchFields"), Json::array({elsewhere}));
  EXPECT_EQ(terms.at(1).at("matchFields").at(0).at("operator"), "In");
  EXPECT_EQ(terms.at(1).at("matchFields").at(1), elsewhere);
  // No node meets an empty term, and with a demand added all but one would.
  EXPECT_FALSE(terms.at(2).contains("matchFields"));
  EXPECT_FALSE(terms.at(3).contains("matchFields"));
  start.may_use_avoided_node = true;
  job.spec.workers.pod_template = {};
  EXPECT_FALSE(affinity().contains(required));
  EXPECT_EQ(affinity().at("preferredDuringSchedulingIgnoredDuringExecution").at(0).at("preference"),
            (Json{{"matchFields", Json::array({elsewhere})}}));
}

// Nobody asked for checkpoints: they are where the only shard has a volume that outlives its pod.
TEST(PodTest, DefaultCheckpointsGoToTheOutputsVolumeOfTheOnlyShard) {
  const auto arguments = [](const job::TrainingJob& job) {
    return Arguments(Pod(job, job::Role::kParameterServer, 0));
  };
  job::TrainingJob job = Digits();
  job.spec.output.volume.emplace().persistent_volume_claim = job::Claim{.claim_name = "out"};
  EXPECT_THAT(arguments(job), Not(Contains("--checkpoint"))) << "two shards";
  job.spec.parameter_server.shards = 1;
  EXPECT_EQ(After(arguments(job), "--checkpoint"), "/paceline/output/.digits-checkpoints-uid-1");
  EXPECT_THAT(arguments(job), Contains("--default-checkpoints"));
  EXPECT_EQ(
      Named(Pod(job, job::Role::kParameterServer, 0)["spec"]["volumes"], "paceline-checkpoint"),
      nullptr);
  job.spec.checkpoint.emplace().enabled = false;
  EXPECT_THAT(arguments(job), Not(Contains("--checkpoint")));
  EXPECT_TRUE(BuildCheckpointClaims(job).empty());
  job.spec.checkpoint->enabled = true;
  job.spec.checkpoint->volume.emplace().persistent_volume_claim = job::Claim{.claim_name = "c"};
  EXPECT_EQ(After(arguments(job), "--checkpoint"), "/paceline/checkpoint");
  EXPECT_THAT(arguments(job), Not(Contains("--default-checkpoints")));
}

TEST(PodTest, TheTokenIsTheCoordinatorsAloneWhereNoVolumeHasTheModel) {
  job::TrainingJob job = Digits();
  // The Secret that the pod mounts; "" for none.
  const auto token = [&](job::Role role, int64_t index) {
    const Json pod = Pod(job, role, index);
    const Json* const volume = Named(pod["spec"]["volumes"], "paceline-token");
    return volume == nullptr ? "" : (*volume)["secret"]["secretName"].get<std::string>();
  };
  EXPECT_EQ(token(job::Role::kParameterServer, 0), "digits-token");
  const auto arguments = Arguments(Pod(job, job::Role::kParameterServer, 0));
  EXPECT_EQ(After(arguments, "--token-file"), "/paceline/token/token");
  EXPECT_THAT(arguments, Contains("--serve-model"));
  EXPECT_EQ(token(job::Role::kParameterServer, 1), "");
  EXPECT_EQ(token(job::Role::kWorker, 0), "");
  job.spec.output.volume.emplace().persistent_volume_claim = job::Claim{.claim_name = "out"};
  EXPECT_EQ(token(job::Role::kParameterServer, 0), "");
  EXPECT_THAT(Arguments(Pod(job, job::Role::kParameterServer, 0)), Not(Contains("--serve-model")));
}

TEST(PodTest, IsEqualForEqualInput) {
  EXPECT_EQ(Pod(Digits(), job::Role::kWorker).dump(), Pod(Digits(), job::Role::kWorker).dump());
}

TEST(ChildrenTest, ServicePublishesPodsThatAreNotReady) {
  const Json service = BuildService(Digits());
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["publishNotReadyAddresses"], true);
}

TEST(ChildrenTest, ConfigMapHoldsAJobThatReadsBack) {
  job::TrainingJob job = Digits();
  job.status.restarts = 7;
  const Json map = BuildConfigMap(job);
  const job::Decoded decoded = job::FromJsonText(map["data"]["job.json"].get<std::string>());
  EXPECT_TRUE(decoded.errors.empty());
  EXPECT_EQ(decoded.job.spec, job.spec);
  EXPECT_FALSE(Json::parse(map["data"]["job.json"].get<std::string>()).contains("status"));
}

TEST(ChildrenTest, StatusIsNoReasonToWriteTheConfigMapAgainAndSpecIs) {
  job::TrainingJob job = Digits(), later = Digits(), other = Digits();
  later.status.restarts = 7;
  later.metadata.resource_version = "12";
  other.spec.workers.replicas = 6;
  EXPECT_TRUE(IsAsWanted(BuildConfigMap(job), BuildConfigMap(later)));
  EXPECT_FALSE(IsAsWanted(BuildConfigMap(job), BuildConfigMap(other)));
  EXPECT_FALSE(IsAsWanted(Json{{"metadata", Json::object()}}, BuildConfigMap(job)));
}

TEST(ChildrenTest, MarkingTwiceChangesNothing) {
  Json service = BuildService(Digits());
  const Json once = service;
  MarkWanted(service);
  EXPECT_EQ(service, once);
}

TEST(ChildrenTest, BudgetOnlyWhereItLeavesRoom) {
  job::TrainingJob job = Digits();
  const auto budget = BuildDisruptionBudgets(job).front().budget;
  ASSERT_TRUE(budget.has_value());
  EXPECT_EQ((*budget)["spec"]["minAvailable"], 2);
  job.spec.workers.min_replicas = 4;
  EXPECT_FALSE(BuildDisruptionBudgets(job).front().budget.has_value());
  job.spec.workers.min_replicas = 1;
  EXPECT_FALSE(BuildDisruptionBudgets(job).front().budget.has_value());
}

TEST(PodGroupTest, HasTheMembersThatTrainingNeedsToStart) {
  job::TrainingJob job = Digits();
  ObjectOptions options = kOptions;
  options.gang_scheduler = GangScheduler::kVolcano;
  EXPECT_FALSE(BuildPodGroup(job, options).has_value());  // Not asked for.
  job.spec.run_policy.scheduling_policy.queue = "research";
  EXPECT_FALSE(BuildPodGroup(job, kOptions).has_value());  // No such scheduler.
  const auto group = BuildPodGroup(job, options);
  ASSERT_TRUE(group.has_value());
  EXPECT_EQ((*group)["spec"]["minMember"], 4);  // 2 shards, 2 of 4 workers.
  EXPECT_EQ((*group)["spec"]["queue"], "research");
  EXPECT_TRUE(IsControlledBy(*group, "uid-1"));
  const Json pod = BuildPod(job, StartOf(job::Role::kWorker, 0), options);
  EXPECT_EQ(pod["spec"]["schedulerName"], "volcano");
  EXPECT_EQ(pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"], "digits");
}

TEST(PodGroupTest, HasWhatSchedulingPolicySays) {
  job::TrainingJob job = Digits();
  job::SchedulingPolicy& policy = job.spec.run_policy.scheduling_policy;
  policy.min_resources = Yaml("{cpu: 8, nvidia.com/gpu: \"4\"}");  // Enough to ask for a group.
  policy.priority_class = "high";
  policy.scheduler_name = "volcano-of-ours";
  const Json wanted = {{"cpu", 8}, {"nvidia.com/gpu", "4"}};
  for (const GangScheduler scheduler : {GangScheduler::kVolcano, GangScheduler::kCoscheduling}) {
    ObjectOptions options = kOptions;
    options.gang_scheduler = scheduler;
    const auto group = BuildPodGroup(job, options);
    ASSERT_TRUE(group.has_value());
    EXPECT_EQ((*group)["spec"]["minResources"], wanted);
    // The other one's groups have no such field; its pods do.
    EXPECT_EQ((*group)["spec"].contains("priorityClassName"), scheduler == GangScheduler::kVolcano);
    const Json pod = BuildPod(job, StartOf(job::Role::kWorker, 0), options);
    EXPECT_EQ(pod["spec"]["priorityClassName"], "high");
    EXPECT_EQ(pod["spec"]["schedulerName"], "volcano-of-ours");
  }
  // A template of the user's own has the last word.
  job.spec.workers.pod_template = Yaml("{spec: {schedulerName: theirs}}");
  EXPECT_EQ(Pod(job, job::Role::kWorker)["spec"]["schedulerName"], "theirs");
  EXPECT_EQ(Pod(job, job::Role::kParameterServer)["spec"]["schedulerName"], "volcano-of-ours");
}

}  // namespace
}  // namespace paceline::controller
