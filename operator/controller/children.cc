#include "operator/controller/children.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/base/json_text.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "operator/controller/own_child.h"
#include "operator/controller/resources.h"
#include "operator/objects/children.h"
#include "operator/objects/claim.h"
#include "operator/objects/job_file.h"
#include "operator/objects/mend.h"
#include "operator/objects/names.h"
#include "operator/objects/pods/disruption.h"
#include "operator/objects/pods/pod_group.h"

namespace paceline::controller {

using kube::Json;

namespace {

// Changes with all that is compared: of kinds that count the generations of their spec, which
// labels are no part of, a status is nothing new.
std::string MarkOf(const Json& child) {
  const auto controller = kube::ControllerOf(child);
  const int64_t generation = kube::Generation(child);
  const Json* const labels = kube::Find(child, "/metadata/labels");
  return fmt::format("{}/{}/{}", kube::Uid(child), controller ? controller->uid : "",
                     generation == 0 ? kube::ResourceVersion(child)
                                     : fmt::format("{}/{:016x}", generation,
                                                   HashText(labels ? JsonText(*labels) : "")));
}

// By what a child is known among its job's.
std::string PlaceOf(const kube::Resource& resource, const std::string& name) {
  return resource.plural + "/" + name;
}

// What is created cannot be missing: the API server does not serve its kind.
Status WhyNotMade(const kube::Resource& resource, const Status& status) {
  if (!IsNotFound(status) || resource.group.empty()) return status;
  return FailedPrecondition(
      "the API server does not serve {}/{}: install what brings this API{}", NameOf(resource),
      resource.version,
      resource.kind == "PodGroup" ? ", or start the operator with another --gang-scheduler" : "");
}

constexpr Duration kBudgetPause = std::chrono::seconds(60);

// Has `map` hold what those know who read the live one. What that is, where it is less than all.
std::optional<std::string> KeepToVersionOf(const Json& live, Json& map) {
  if (IsAsWanted(live, map)) return std::nullopt;  // Of this version, whoever has edited it.
  const std::string key(kConfigKey);
  const Json::json_pointer place = Json::json_pointer("/data") / key;
  const std::string whole = kube::StringAt(map, place.to_string());
  std::string kept = JobFileFor(kube::StringAt(live, place.to_string()), whole);
  if (kept == whole) return std::nullopt;
  map[place] = kept;
  // The mark is of all that is wanted: an operator that comes anew is to look again.
  const std::string mark(kWantedAnnotation);
  map["metadata"]["annotations"][mark] = kube::Annotation(live, mark);
  return kept;
}

}  // namespace

Children::Children(kube::Client* client, const ClusterView* view, ObjectOptions options)
    : client_(client), view_(view), options_(std::move(options)) {}

Status Children::Ensure(const job::TrainingJob& job, const std::string& installation,
                        const PodDefaults& defaults, SeenChildren& good, FormerJob& former) const {
  if (good.generation == job.metadata.generation && good.marks == MarksOf(job)) return OkStatus();
  good.generation = 0;
  PACELINE_RETURN_IF_ERROR(Compare(job, installation, defaults, good, former));
  good.generation = job.metadata.generation;
  return OkStatus();
}

Status Children::KeepServers(const job::TrainingJob& job, const PodDefaults& defaults, Time now,
                             SeenServersBudget& seen) const {
  const kube::Resource resource = kube::PodDisruptionBudgets();
  BudgetOfGroup servers = BuildServersBudget(job);
  if (!servers.budget) {
    seen = {};
    return LetServersGo(job);
  }
  if (!seen.refusal.ok() && now < seen.due) return seen.refusal;
  LayUnder(*servers.budget, defaults);
  const kube::ObjectPtr there =
      view_->Child(resource.plural, {job.metadata.name_space, servers.name});
  const std::string mark = there == nullptr ? "" : MarkOf(*there);
  const bool is_awaited = seen.is_made && now < seen.due;  // By the view.
  const bool is_known = is_awaited || (!mark.empty() && mark == seen.mark);
  if (is_known && (there == nullptr || (OwnershipOf(job, *there) == Ownership::kOurs &&
                                        IsAsWanted(*there, *servers.budget)))) {
    seen.is_made = there == nullptr;
    seen.mark = mark;
    return OkStatus();
  }
  seen.refusal = there == nullptr ? MakeServersBudget(job, *servers.budget, seen)
                                  : MendServersBudget(job, *servers.budget, seen);
  seen.due = now + kBudgetPause;
  return seen.refusal;
}

Status Children::MakeServersBudget(const job::TrainingJob& job, const Json& budget,
                                   SeenServersBudget& known) const {
  const kube::Resource resource = kube::PodDisruptionBudgets();
  known.mark.clear();
  known.is_made = false;
  const Status made =
      client_
          ->Call(kube::Create(resource, budget,
                              {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
          .status();
  known.is_made = made.ok();
  return IsAlreadyExists(made) ? MendServersBudget(job, budget, known) : made;
}

Status Children::MendServersBudget(const job::TrainingJob& job, const Json& budget,
                                   SeenServersBudget& known) const {
  const kube::Resource resource = kube::PodDisruptionBudgets();
  known.mark.clear();
  known.is_made = false;
  FormerJob former;  // What one of that name has left goes with it.
  PACELINE_ASSIGN_OR_RETURN(const FoundChild found,
                            FindChild(*client_, job, resource, kube::Name(budget), former));
  if (found.is_in_the_way || found.live.is_null()) return OkStatus();
  if (!PatchTowards(found.live, budget)) known.mark = MarkOf(found.live);
  return MendChild(*client_, resource, found.live, budget);
}

Status Children::LetServersGo(const job::TrainingJob& job) const {
  return RemoveOne(job, kube::PodDisruptionBudgets(), ServersBudgetName(job));
}

std::map<std::string, std::string> Children::MarksOf(const job::TrainingJob& job) const {
  std::map<std::string, std::string> marks;
  const auto add = [&](const kube::Resource& resource, const std::string& name) {
    const kube::ObjectPtr child = view_->Child(resource.plural, {job.metadata.name_space, name});
    marks[PlaceOf(resource, name)] = child == nullptr ? "" : MarkOf(*child);
  };
  add(kube::Services(), ServiceName(job));
  add(kube::ConfigMaps(), ConfigMapName(job));
  add(kube::NetworkPolicies(), job.metadata.name);
  for (const BudgetOfGroup& group : BuildDisruptionBudgets(job))
    add(kube::PodDisruptionBudgets(), group.name);
  if (options_.gang_scheduler != GangScheduler::kNone)
    add(PodGroups(options_.gang_scheduler), PodGroupName(job));
  return marks;
}

Status Children::Compare(const job::TrainingJob& job, const std::string& installation,
                         const PodDefaults& defaults, SeenChildren& good, FormerJob& former) const {
  std::vector<Wanted> wanted = {
      {kube::Services(), BuildService(job)},
      {kube::NetworkPolicies(), BuildNetworkPolicy(job, options_)},
  };
  Json map = WantedConfigMap(job, installation, defaults);
  const std::string made = std::exchange(good.map_made, "");
  // The one that the claim has made, unless something else is wanted by now.
  if (!made.empty() && made == kube::Annotation(map, std::string(kWantedAnnotation)))
    good.made.insert(PlaceOf(kube::ConfigMaps(), ConfigMapName(job)));
  else
    wanted.push_back({kube::ConfigMaps(), std::move(map)});
  std::map<std::string, std::string> marks = MarksOf(job);
  // Those of groups that are gone select no pod, and go with the job.
  std::erase_if(good.marks, [&](const auto& mark) { return !marks.contains(mark.first); });
  for (const BudgetOfGroup& group : BuildDisruptionBudgets(job)) {
    if (group.budget) {
      wanted.push_back({kube::PodDisruptionBudgets(), *group.budget});
      continue;
    }
    PACELINE_RETURN_IF_ERROR(RemoveOne(job, kube::PodDisruptionBudgets(), group.name));
    good.marks[PlaceOf(kube::PodDisruptionBudgets(), group.name)] = "";
  }
  if (options_.gang_scheduler != GangScheduler::kNone) {
    const kube::Resource groups = PodGroups(options_.gang_scheduler);
    if (const auto group = BuildPodGroup(job, options_))
      wanted.push_back({groups, *group});
    else
      good.marks[PlaceOf(groups, PodGroupName(job))] = marks[PlaceOf(groups, PodGroupName(job))];
  }

  std::vector<Wanted> unseen;
  for (Wanted& child : wanted) {
    LayUnder(child.object, defaults);
    const std::string place = PlaceOf(child.resource, kube::Name(child.object));
    const kube::ObjectPtr seen = view_->Child(child.resource.plural, kube::KeyOf(child.object));
    if (seen == nullptr) {
      unseen.push_back(std::move(child));
      continue;
    }
    const std::string mark = MarkOf(*seen);
    const bool is_known = good.made.erase(place) > 0 || good.marks[place] == mark;
    if (is_known && OwnershipOf(job, *seen) == Ownership::kOurs &&
        IsAsWanted(*seen, child.object)) {
      good.marks[place] = mark;
    } else {
      PACELINE_RETURN_IF_ERROR(MakeAsWanted(job, child, good, former));
    }
  }
  return CreateAll(job, unseen, good, former);
}

// Created, not changed: what lies there under this name unseen may be anybody's.
Status Children::CreateAll(const job::TrainingJob& job, const std::vector<Wanted>& children,
                           SeenChildren& good, FormerJob& former) const {
  std::vector<kube::Request> requests;
  for (const Wanted& child : children) {
    requests.push_back(
        kube::Create(child.resource, child.object,
                     {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}));
  }
  const std::vector<StatusOr<Json>> made = client_->CallAll(std::move(requests));
  for (size_t i = 0; i < made.size(); ++i) {
    const std::string place = PlaceOf(children[i].resource, kube::Name(children[i].object));
    good.marks.erase(place);  // It is in the view later, or never.
    if (made[i].ok()) {
      good.made.insert(place);
      continue;
    }
    if (!IsAlreadyExists(made[i].status()))
      return WhyNotMade(children[i].resource, made[i].status());
    PACELINE_RETURN_IF_ERROR(MakeAsWanted(job, children[i], good, former));
  }
  return OkStatus();
}

Status Children::MakeAsWanted(const job::TrainingJob& job, Wanted child, SeenChildren& good,
                              FormerJob& former) const {
  const std::string name = kube::Name(child.object);
  const std::string place = PlaceOf(child.resource, name);
  good.marks.erase(place);
  good.made.erase(place);
  PACELINE_ASSIGN_OR_RETURN(const FoundChild found,
                            FindChild(*client_, job, child.resource, name, former));
  if (found.is_in_the_way) return OkStatus();
  if (found.live.is_null()) return Aborted("{} {} went away just now", child.resource.kind, name);
  if (child.resource.plural == kube::ConfigMaps().plural)
    good.older_file = KeepToVersionOf(found.live, child.object);
  if (!PatchTowards(found.live, child.object)) {
    good.marks[place] = MarkOf(found.live);
    return OkStatus();
  }
  return MendChild(*client_, child.resource, found.live, child.object);
}

Status Children::RemoveOne(const job::TrainingJob& job, const kube::Resource& resource,
                           const std::string& name) const {
  const kube::ObjectKey key{job.metadata.name_space, name};
  const kube::ObjectPtr seen = view_->Child(resource.plural, key);
  if (seen == nullptr || !IsControlledBy(*seen, job.metadata.uid.value_or(""))) return OkStatus();
  return kube::IgnoreNotFound(
      client_->Call(kube::Delete(resource, key, {.uid = kube::Uid(*seen)})).status());
}

StatusOr<ClaimNews> Children::EnsureClaims(const job::TrainingJob& job, const PodDefaults& defaults,
                                           FormerJob& former) const {
  std::vector<kube::Request> requests;
  for (Json& claim : BuildCheckpointClaims(job)) {
    LayUnder(claim, defaults);
    requests.push_back(kube::Create(
        kube::PersistentVolumeClaims(), claim,
        {.field_manager = kFieldManager, .is_strict = true, .answer = kube::Answer::kNothing}));
  }
  const std::vector<StatusOr<Json>> made = client_->CallAll(std::move(requests));
  ClaimNews news;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].ok()) continue;
    if (!IsAlreadyExists(made[i].status())) return made[i].status();
    PACELINE_RETURN_IF_ERROR(
        SettleClaim(job, CheckpointClaimName(job, static_cast<int64_t>(i)), news, former));
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
  FormerJob nobody;
  for (const Json& claim : BuildCheckpointClaims(job))
    PACELINE_RETURN_IF_ERROR(SettleClaim(job, kube::Name(claim), unused, nobody));
  return OkStatus();
}

Status Children::SettleClaim(const job::TrainingJob& job, const std::string& name, ClaimNews& news,
                             FormerJob& former) const {
  const kube::ObjectKey key{job.metadata.name_space, name};
  const StatusOr<Json> live = client_->Call(kube::Get(kube::PersistentVolumeClaims(), key));
  if (IsNotFound(live.status())) return OkStatus();
  PACELINE_RETURN_IF_ERROR(live.status());
  const auto add = [&](std::string& names) { names += (names.empty() ? "" : ", ") + name; };
  if (kube::IsBeingDeleted(*live)) {
    add(news.terminating);
  } else if (OwnershipOf(job, *live) == Ownership::kFormer) {
    AddTo(former, kube::PersistentVolumeClaims(), name);  // It is about to be deleted.
    return OkStatus();
  }
  if (KeepsClaimOfAnother(job, *live)) add(news.of_others);
  const std::optional<Json> patch = ClaimPatch(job, *live);
  if (!patch) return OkStatus();
  return client_
      ->Call(kube::MergePatch(kube::PersistentVolumeClaims(), key, *patch,
                              {.field_manager = kFieldManager, .answer = kube::Answer::kNothing}))
      .status();
}

}  // namespace paceline::controller
