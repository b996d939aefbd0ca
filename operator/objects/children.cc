#include "operator/objects/children.h"

#include "lib/base/json_text.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/job/worker_groups.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

Json JobSelector(const job::TrainingJob& job) {
  return {{std::string(kJobLabel), job.metadata.name}};
}

Json ServerSelector(const job::TrainingJob& job) {
  Json selector = JobSelector(job);
  selector[std::string(kRoleLabel)] = ContainerName(job::Role::kParameterServer);
  return selector;
}

Json Ports(std::initializer_list<int> ports) {
  Json list = Json::array();
  for (const int port : ports) list.push_back({{"protocol", "TCP"}, {"port", port}});
  return list;
}

// Takes from a claim of an operator's, also of one of a version before, what has GitOps tools
// delete it. Another value is somebody else's.
void Untrack(const job::TrainingJob& job, const Json& live, Json& patch) {
  const auto label = [&](std::string_view name) { return kube::Label(live, std::string(name)); };
  if (label(kManagerLabel) != kManager || label(kJobLabel) != job.metadata.name) return;
  if (label(kInstanceLabel) == job.metadata.name)
    patch["labels"][std::string(kInstanceLabel)] = nullptr;
  if (kube::Annotation(live, std::string(kSyncAnnotation)).empty())
    patch["annotations"][std::string(kSyncAnnotation)] = kNeverPruned;
}

bool GoWithJob(const job::TrainingJob& job) {
  return job.spec.checkpoint && job.spec.checkpoint->claim_retention &&
         job.spec.checkpoint->claim_retention->when_deleted == job::ClaimFate::kDelete;
}

// One that belongs to the job was made by it, before claims said who made them.
bool IsMadeBy(const Json& claim, const std::string& uid) {
  return IsControlledBy(claim, uid) ||
         (!uid.empty() && kube::Annotation(claim, std::string(kMadeByAnnotation)) == uid);
}

void SettleOwner(const job::TrainingJob& job, const Json& live, Json& patch) {
  const std::string uid = job.metadata.uid.value_or("");
  const bool belongs = IsControlledBy(live, uid);
  if (belongs == (GoWithJob(job) && IsMadeBy(live, uid))) return;
  Json owners = Json::array();
  if (const Json* const there = kube::Find(live, "/metadata/ownerReferences"); there != nullptr) {
    for (const Json& owner : *there) {
      if (kube::StringAt(owner, "/uid") != uid) owners.push_back(owner);
    }
  }
  if (!belongs) owners.push_back(OwnerReference(job));
  patch["annotations"][std::string(kMadeByAnnotation)] = uid;
  patch["ownerReferences"] = std::move(owners);
}

}  // namespace

Json BuildService(const job::TrainingJob& job) {
  Json service = {{"apiVersion", "v1"},
                  {"kind", "Service"},
                  {"metadata", ChildMetadata(job, ServiceName(job), JobLabels(job))},
                  {"spec",
                   {{"clusterIP", "None"},
                    {"publishNotReadyAddresses", true},
                    {"selector", JobSelector(job)},
                    {"ports", Json::array({{{"name", "bulk"}, {"port", kBulkPort}},
                                           {{"name", "api"}, {"port", kApiPort}},
                                           {{"name", "metrics"}, {"port", kMetricsPort}}})}}}};
  MarkWanted(service);
  return service;
}

Json BuildConfigMap(const job::TrainingJob& job) {
  // Of the job, what its programs have a use for: a new status is no reason to write this again.
  job::TrainingJob told = job;
  told.metadata.resource_version.reset();
  told.metadata.generation = 0;
  told.metadata.annotations.clear();
  told.metadata.labels.clear();
  told.spec.parameter_server.pod_template.reset();
  told.spec.workers.pod_template.reset();
  for (job::WorkerGroup& group : told.spec.workers.groups) group.pod_template.reset();
  if (told.spec.evaluator) told.spec.evaluator->pod_template.reset();
  Json text = job::ToJson(told);
  // Programs of another version than this one refuse what they do not know of it.
  text.erase("status");
  Json map = {{"apiVersion", "v1"},
              {"kind", "ConfigMap"},
              {"metadata", ChildMetadata(job, ConfigMapName(job), JobLabels(job))},
              {"data", {{std::string(kConfigKey), JsonText(text)}}}};
  MarkWanted(map);
  return map;
}

Json BuildNetworkPolicy(const job::TrainingJob& job, const ObjectOptions& options) {
  const Json own_pods = {{"podSelector", {{"matchLabels", JobSelector(job)}}}};
  Json operators = {
      {"namespaceSelector",
       {{"matchLabels", {{"kubernetes.io/metadata.name", options.operator_namespace}}}}}};
  // An operator that was installed by other manifests than ours may have any labels. Where nobody
  // has told it which, all of its namespace is let in: shut out, it could not run the job.
  if (!options.operator_labels.empty())
    operators["podSelector"] = {{"matchLabels", options.operator_labels}};
  Json policy = {
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "NetworkPolicy"},
      {"metadata", ChildMetadata(job, job.metadata.name, JobLabels(job))},
      {"spec",
       {{"podSelector", {{"matchLabels", ServerSelector(job)}}},
        {"policyTypes", Json::array({"Ingress"})},
        {"ingress", Json::array({{{"from", Json::array({own_pods})}, {"ports", Ports({kBulkPort})}},
                                 {{"from", Json::array({operators})}, {"ports", Ports({kApiPort})}},
                                 {{"ports", Ports({kMetricsPort})}}})}}}};
  MarkWanted(policy);
  return policy;
}

std::vector<BudgetOfGroup> BuildDisruptionBudgets(const job::TrainingJob& job) {
  std::vector<BudgetOfGroup> budgets;
  for (const job::GroupView& group : job::GroupsOf(job.spec.workers)) {
    BudgetOfGroup& one = budgets.emplace_back();
    one.name = DisruptionBudgetName(job, group.name);
    if (group.needed <= 1 || group.needed >= group.replicas) continue;
    Json selector = JobSelector(job);
    selector[std::string(kRoleLabel)] = ContainerName(job::Role::kWorker);
    if (!group.name.empty()) selector[std::string(kGroupLabel)] = group.name;
    one.budget = {
        {"apiVersion", "policy/v1"},
        {"kind", "PodDisruptionBudget"},
        {"metadata", ChildMetadata(job, one.name, JobLabels(job))},
        {"spec",
         {{"minAvailable", group.needed}, {"selector", {{"matchLabels", std::move(selector)}}}}}};
    MarkWanted(*one.budget);
  }
  return budgets;
}

// Without the label by which Argo CD tracks, for it deletes what it tracks and does not find in its
// repository; an Application may have the job's name.
std::map<std::string, std::string> ClaimLabels(const job::TrainingJob& job) {
  std::map<std::string, std::string> labels = JobLabels(job);
  labels.erase(std::string(kInstanceLabel));
  return labels;
}

std::vector<Json> BuildCheckpointClaims(const job::TrainingJob& job) {
  if (!job::HasCheckpoints(job.spec) || !job.spec.checkpoint->volume_claim_template) return {};
  const Json pattern = job::ToJson(*job.spec.checkpoint->volume_claim_template);
  std::vector<Json> claims;
  for (int64_t shard = 0; shard < job.spec.parameter_server.shards; ++shard) {
    Json claim = {
        {"apiVersion", "v1"},
        {"kind", "PersistentVolumeClaim"},
        {"metadata", ChildMetadata(job, CheckpointClaimName(job, shard), ClaimLabels(job))}};
    if (pattern.contains("spec")) claim["spec"] = pattern["spec"];
    if (!GoWithJob(job)) claim["metadata"].erase("ownerReferences");
    MarkWanted(claim);
    claim["metadata"]["annotations"][std::string(kMadeByAnnotation)] =
        job.metadata.uid.value_or("");
    claim["metadata"]["annotations"][std::string(kSyncAnnotation)] = kNeverPruned;
    claims.push_back(std::move(claim));
  }
  return claims;
}

job::ClaimAccess AccessOf(const Json& claim) {
  const Json modes = claim.value(Json::json_pointer("/spec/accessModes"), Json::array());
  job::ClaimAccess access;
  for (const Json& mode : modes) {
    if (!mode.is_string()) continue;
    access.is_shared = access.is_shared || mode == "ReadWriteMany";
    access.modes += (access.modes.empty() ? "" : ", ") + mode.get<std::string>();
  }
  return access;
}

std::optional<Json> ClaimPatch(const job::TrainingJob& job, const Json& live) {
  Json patch = Json::object();
  Untrack(job, live, patch);
  SettleOwner(job, live, patch);
  if (patch.empty()) return std::nullopt;
  patch["resourceVersion"] = kube::ResourceVersion(live);
  return Json{{"metadata", std::move(patch)}};
}

bool KeepsClaimOfAnother(const job::TrainingJob& job, const Json& live) {
  return GoWithJob(job) && !IsMadeBy(live, job.metadata.uid.value_or(""));
}

}  // namespace paceline::controller
