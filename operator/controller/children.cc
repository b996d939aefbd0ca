#include "operator/controller/children.h"

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "operator/objects/children.h"
#include "operator/objects/names.h"
#include "operator/objects/pod_group.h"

namespace paceline::controller {

using kube::Json;

Children::Children(kube::Client* client, const ClusterView* view, ObjectOptions options)
    : client_(client), view_(view), options_(std::move(options)) {}

Status Children::Ensure(const job::TrainingJob& job) const {
  PACELINE_RETURN_IF_ERROR(EnsureOne(job, kube::Services(), BuildService(job)));
  PACELINE_RETURN_IF_ERROR(EnsureOne(job, kube::ConfigMaps(), BuildConfigMap(job)));
  PACELINE_RETURN_IF_ERROR(
      EnsureOne(job, kube::NetworkPolicies(), BuildNetworkPolicy(job, options_)));
  const auto budget = BuildDisruptionBudget(job);
  PACELINE_RETURN_IF_ERROR(
      budget ? EnsureOne(job, kube::PodDisruptionBudgets(), *budget)
             : RemoveOne(job, kube::PodDisruptionBudgets(), DisruptionBudgetName(job)));
  if (const auto group = BuildPodGroup(job, options_))
    PACELINE_RETURN_IF_ERROR(EnsureOne(job, PodGroups(options_.gang_scheduler), *group));
  return OkStatus();
}

Status Children::EnsureOne(const job::TrainingJob& job, const kube::Resource& resource,
                           const Json& wanted) const {
  const kube::ObjectKey key = kube::KeyOf(wanted);
  const std::string uid = job.metadata.uid.value_or("");
  const kube::ObjectPtr seen = view_->Child(resource.plural, key);
  if (seen != nullptr && IsControlledBy(*seen, uid) && IsAsWanted(*seen, wanted)) return OkStatus();
  if (seen == nullptr) {
    // Created, not applied: what lies there under this name unseen is not ours to change.
    const Status created =
        client_->Call(kube::Create(resource, wanted, {.field_manager = kFieldManager})).status();
    if (!IsAlreadyExists(created)) return created;
  }
  PACELINE_ASSIGN_OR_RETURN(const Json live, client_->Call(kube::Get(resource, key)));
  if (!IsControlledBy(live, uid)) {
    return FailedPrecondition("{} {} is there and belongs to somebody else; rename it or the job",
                              resource.kind, key);
  }
  if (IsAsWanted(live, wanted)) return OkStatus();
  return client_
      ->Call(kube::Apply(resource, wanted, {.field_manager = kFieldManager, .force = true}))
      .status();
}

Status Children::RemoveOne(const job::TrainingJob& job, const kube::Resource& resource,
                           const std::string& name) const {
  const kube::ObjectKey key{job.metadata.name_space, name};
  const kube::ObjectPtr seen = view_->Child(resource.plural, key);
  if (seen == nullptr || !IsControlledBy(*seen, job.metadata.uid.value_or(""))) return OkStatus();
  return kube::IgnoreNotFound(
      client_->Call(kube::Delete(resource, key, {.uid = kube::Uid(*seen)})).status());
}

Status Children::EnsureClaims(const job::TrainingJob& job) const {
  std::vector<kube::Request> requests;
  for (const Json& claim : BuildCheckpointClaims(job)) {
    requests.push_back(
        kube::Create(kube::PersistentVolumeClaims(), claim, {.field_manager = kFieldManager}));
  }
  for (const StatusOr<Json>& made : client_->CallAll(std::move(requests))) {
    if (!made.ok() && !IsAlreadyExists(made.status())) return made.status();
  }
  return OkStatus();
}

}  // namespace paceline::controller
