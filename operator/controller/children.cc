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

Status Children::Ensure(const job::TrainingJob& job, SeenChildren& good) const {
  SeenChildren seen = Seen(job);
  if (seen == good) return OkStatus();
  PACELINE_ASSIGN_OR_RETURN(const bool are_good, Compare(job));
  // What was written is in the view later, or, deleted before that, never.
  good = are_good ? std::move(seen) : SeenChildren{};
  return OkStatus();
}

SeenChildren Children::Seen(const job::TrainingJob& job) const {
  const std::string& name_space = job.metadata.name_space;
  SeenChildren seen{.generation = job.metadata.generation};
  const auto add = [&](const kube::Resource& resource, const std::string& name) {
    const kube::ObjectPtr child = view_->Child(resource.plural, {name_space, name});
    seen.versions.push_back(child == nullptr ? "" : kube::ResourceVersion(*child));
  };
  add(kube::Services(), ServiceName(job));
  add(kube::ConfigMaps(), ConfigMapName(job));
  add(kube::NetworkPolicies(), job.metadata.name);
  add(kube::PodDisruptionBudgets(), DisruptionBudgetName(job));
  if (options_.gang_scheduler != GangScheduler::kNone)
    add(PodGroups(options_.gang_scheduler), job.metadata.name);
  return seen;
}

StatusOr<bool> Children::Compare(const job::TrainingJob& job) const {
  std::vector<Wanted> wanted = {
      {kube::Services(), BuildService(job)},
      {kube::ConfigMaps(), BuildConfigMap(job)},
      {kube::NetworkPolicies(), BuildNetworkPolicy(job, options_)},
  };
  bool are_good = true;
  if (const auto budget = BuildDisruptionBudget(job)) {
    wanted.push_back({kube::PodDisruptionBudgets(), *budget});
  } else {
    PACELINE_RETURN_IF_ERROR(
        RemoveOne(job, kube::PodDisruptionBudgets(), DisruptionBudgetName(job)));
  }
  if (const auto group = BuildPodGroup(job, options_))
    wanted.push_back({PodGroups(options_.gang_scheduler), *group});

  std::vector<Wanted> unseen;
  for (Wanted& child : wanted) {
    const kube::ObjectPtr seen = view_->Child(child.resource.plural, kube::KeyOf(child.object));
    if (seen == nullptr) {
      unseen.push_back(std::move(child));
    } else if (!IsControlledBy(*seen, job.metadata.uid.value_or("")) ||
               !IsAsWanted(*seen, child.object)) {
      are_good = false;
      PACELINE_RETURN_IF_ERROR(MakeAsWanted(job, child));
    }
  }
  PACELINE_RETURN_IF_ERROR(CreateAll(job, unseen));
  return are_good && unseen.empty();
}

// Created, not applied: what lies there under this name unseen is not ours to change.
Status Children::CreateAll(const job::TrainingJob& job, const std::vector<Wanted>& children) const {
  std::vector<kube::Request> requests;
  for (const Wanted& child : children) {
    requests.push_back(
        kube::Create(child.resource, child.object,
                     {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}));
  }
  const std::vector<StatusOr<Json>> made = client_->CallAll(std::move(requests));
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].ok()) continue;
    if (!IsAlreadyExists(made[i].status())) return made[i].status();
    PACELINE_RETURN_IF_ERROR(MakeAsWanted(job, children[i]));
  }
  return OkStatus();
}

Status Children::MakeAsWanted(const job::TrainingJob& job, const Wanted& child) const {
  const kube::ObjectKey key = kube::KeyOf(child.object);
  PACELINE_ASSIGN_OR_RETURN(const Json live, client_->Call(kube::Get(child.resource, key)));
  if (!IsControlledBy(live, job.metadata.uid.value_or(""))) {
    return FailedPrecondition("{} {} is there and belongs to somebody else; rename it or the job",
                              child.resource.kind, key);
  }
  if (IsAsWanted(live, child.object)) return OkStatus();
  return client_
      ->Call(kube::Apply(child.resource, child.object,
                         {.field_manager = kFieldManager, .force = true}))
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

StatusOr<ClaimNews> Children::EnsureClaims(const job::TrainingJob& job) const {
  std::vector<kube::Request> requests;
  for (const Json& claim : BuildCheckpointClaims(job)) {
    requests.push_back(
        kube::Create(kube::PersistentVolumeClaims(), claim,
                     {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}));
  }
  const std::vector<StatusOr<Json>> made = client_->CallAll(std::move(requests));
  ClaimNews news;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].ok()) continue;
    if (!IsAlreadyExists(made[i].status())) return made[i].status();
    PACELINE_RETURN_IF_ERROR(
        SettleClaim(job, CheckpointClaimName(job, static_cast<int64_t>(i)), news));
  }
  return news;
}

StatusOr<std::optional<job::ClaimAccess>> Children::ReadDecidingClaim(
    const job::TrainingJob& job) const {
  const StatusOr<Json> claim = client_->Call(kube::Get(
      kube::PersistentVolumeClaims(), {job.metadata.name_space, job::DecidingClaim(job.spec)}));
  if (IsNotFound(claim.status())) return std::optional<job::ClaimAccess>();
  PACELINE_RETURN_IF_ERROR(claim.status());
  if (kube::IsBeingDeleted(*claim)) return std::optional<job::ClaimAccess>();
  return std::optional(AccessOf(*claim));
}

Status Children::SettleClaims(const job::TrainingJob& job) const {
  ClaimNews unused;
  for (const Json& claim : BuildCheckpointClaims(job))
    PACELINE_RETURN_IF_ERROR(SettleClaim(job, kube::Name(claim), unused));
  return OkStatus();
}

Status Children::SettleClaim(const job::TrainingJob& job, const std::string& name,
                             ClaimNews& news) const {
  const kube::ObjectKey key{job.metadata.name_space, name};
  const StatusOr<Json> live = client_->Call(kube::Get(kube::PersistentVolumeClaims(), key));
  if (IsNotFound(live.status())) return OkStatus();
  PACELINE_RETURN_IF_ERROR(live.status());
  const auto add = [&](std::string& names) { names += (names.empty() ? "" : ", ") + name; };
  if (kube::IsBeingDeleted(*live)) add(news.terminating);
  if (KeepsClaimOfAnother(job, *live)) add(news.of_others);
  const std::optional<Json> patch = ClaimPatch(job, *live);
  if (!patch) return OkStatus();
  return client_
      ->Call(kube::MergePatch(kube::PersistentVolumeClaims(), key, *patch,
                              {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
      .status();
}

}  // namespace paceline::controller
