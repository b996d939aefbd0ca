#include "operator/controller/cluster_view.h"

#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "operator/controller/resources.h"
#include "operator/objects/names.h"
#include "operator/objects/seen/seen_pod.h"

namespace paceline::controller {
namespace {

using kube::Json;
using kube::ObjectChange;
using kube::ObjectKey;

constexpr const char* kByOwner = "owner";
constexpr const char* kByJob = "job";

// Of a pod, of whose owner the view does not know the name.
ObjectKey JobByLabel(const Json& pod) {
  return {kube::Namespace(pod), kube::Label(pod, std::string(kJobLabel))};
}

// By its owner, since anybody may change labels. An orphan has nothing else.
ObjectKey JobOf(const Json& child) {
  const auto owner = kube::ControllerOf(child);
  if (!owner || owner->kind != job::kKind || owner->name.empty()) return JobByLabel(child);
  return {kube::Namespace(child), owner->name};
}

// Before and after the change.
std::set<ObjectKey> JobsOf(const ObjectChange& change) {
  std::set<ObjectKey> jobs;
  for (const kube::ObjectPtr& version : {change.before, change.after}) {
    if (version != nullptr) jobs.insert(JobOf(*version));
  }
  return jobs;
}

std::string IndexOf(const ObjectKey& job) { return fmt::format("{}/{}", job.name_space, job.name); }

bool IsOfStatusAlone(const ObjectChange& change) {
  if (change.before == nullptr || change.after == nullptr) return false;
  for (const std::string_view part : {"/metadata/uid", "/metadata/generation", "/metadata/labels",
                                      "/metadata/annotations", "/metadata/deletionTimestamp"}) {
    const Json* const before = kube::Find(*change.before, part);
    const Json* const after = kube::Find(*change.after, part);
    if ((before == nullptr) != (after == nullptr)) return false;
    if (before != nullptr && *before != *after) return false;
  }
  return true;
}

using Failed = std::function<void(const std::string& what, const Status& status)>;

// What lasts is told once.
Failed ToldOnce(Failed failed) {
  return [failed = std::move(failed), last = std::make_shared<std::string>()](
             const std::string& what, const Status& status) {
    if (std::exchange(*last, Message(status)) != Message(status) && failed) failed(what, status);
  };
}

}  // namespace

ClusterView::ClusterView(kube::Client& client, const std::string& name_space,
                         GangScheduler gang_scheduler, ClusterViewHandler handler)
    : client_(client) {
  kube::InformerOptions of_ours;
  of_ours.name_space = name_space;
  // Which no tool but this one sets. Whose an object is its owner says.
  of_ours.label_selector = kJobLabel;
  const auto informer = [&](std::function<void(const ObjectChange&)> changed) {
    return kube::InformerHandler{.changed = std::move(changed), .failed = handler.failed};
  };
  const auto child_changed = [handler](const ObjectChange& change) {
    if (change.is_initial) return;
    for (const ObjectKey& job : JobsOf(change)) handler.child_changed(job);
  };
  kube::InformerOptions jobs;
  jobs.name_space = name_space;
  Add(TrainingJobs(), jobs, informer([handler](const ObjectChange& change) {
        const ObjectKey job = kube::KeyOf(*change.object());
        if (IsOfStatusAlone(change)) return handler.status_changed(job);
        handler.job_changed(job, change.is_initial);
      }));
  kube::InformerOptions pods = of_ours;
  pods.selection = PartsOfPod();
  pods.indexes = {{kByOwner, kube::OwnerUid},
                  {kByJob, [](const Json& pod) { return std::vector{IndexOf(JobByLabel(pod))}; }}};
  Add(kube::Pods(), pods, informer([handler](const ObjectChange& change) {
        const ObjectKey job = JobByLabel(*change.object());
        handler.pod_changed(job, change);
        if (!change.is_initial) handler.child_changed(job);
      }));
  kube::InformerOptions children = of_ours;  // An annotation says what they hold.
  children.extent = kube::Extent::kMetadata;
  children.selection = {"/metadata"};
  for (const kube::Resource& resource : {kube::Services(), kube::ConfigMaps(),
                                         kube::NetworkPolicies(), kube::PodDisruptionBudgets()})
    Add(resource, children, informer(child_changed));
  if (gang_scheduler != GangScheduler::kNone) {
    kube::InformerHandler of_groups = informer(child_changed);
    of_groups.failed = ToldOnce(std::move(of_groups.failed));
    Add(PodGroups(gang_scheduler), children, std::move(of_groups));
    optional_.insert(PodGroups(gang_scheduler).plural);
  }
}

kube::Informer& ClusterView::Add(const kube::Resource& resource, kube::InformerOptions options,
                                 kube::InformerHandler handler) {
  options.resource = resource;
  handler.failed = [failed = std::move(handler.failed), name = NameOf(resource)](
                       const std::string& what, const Status& status) {
    if (failed) failed(fmt::format("{} {}", what, name), status);
  };
  auto& place = informers_[resource.plural];
  place = std::make_unique<kube::Informer>(client_, std::move(options), std::move(handler));
  return *place;
}

void ClusterView::Start() {
  for (const auto& [plural, informer] : informers_) informer->Start();
}

void ClusterView::Stop() {
  for (const auto& [plural, informer] : informers_) informer->Stop();
}

Status ClusterView::WaitForSync(Duration deadline) const {
  for (const auto& [plural, informer] : informers_) {
    if (optional_.contains(plural))
      informer->WaitForAnswer(deadline);
    else
      PACELINE_RETURN_IF_ERROR(informer->WaitForSync(deadline));
  }
  return OkStatus();
}

bool ClusterView::HasSynced() const {
  for (const auto& [plural, informer] : informers_) {
    if (!optional_.contains(plural) && !informer->HasSynced()) return false;
  }
  return true;
}

kube::ObjectPtr ClusterView::Job(const ObjectKey& key) const {
  return informers_.at(TrainingJobs().plural)->Find(key);
}

std::vector<kube::ObjectPtr> ClusterView::Jobs() const {
  return informers_.at(TrainingJobs().plural)->Objects();
}

std::vector<kube::ObjectPtr> ClusterView::PodsOf(const std::string& job_uid) const {
  return informers_.at(kube::Pods().plural)->ByIndex(kByOwner, job_uid);
}

std::vector<kube::ObjectPtr> ClusterView::PodsNamedAfter(const ObjectKey& job) const {
  return informers_.at(kube::Pods().plural)->ByIndex(kByJob, IndexOf(job));
}

kube::ObjectPtr ClusterView::Child(const std::string& plural, const ObjectKey& key) const {
  const auto found = informers_.find(plural);
  return found == informers_.end() ? nullptr : found->second->Find(key);
}

}  // namespace paceline::controller
