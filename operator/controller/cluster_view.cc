#include "operator/controller/cluster_view.h"

#include <fmt/format.h>

#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

using kube::Json;
using kube::ObjectChange;
using kube::ObjectKey;

constexpr const char* kByOwner = "owner";

ObjectKey JobOf(const Json& child) {
  return {kube::Namespace(child), kube::Label(child, std::string(kJobLabel))};
}

void KeepMembers(Json& object, std::initializer_list<std::string_view> names) {
  if (!object.is_object()) return;
  Json kept = Json::object();
  for (const std::string_view name : names) {
    const auto found = object.find(std::string(name));
    if (found != object.end()) kept[std::string(name)] = std::move(*found);
  }
  object = std::move(kept);
}

void KeepOfPod(Json& pod) {
  if (!pod.is_object() || !pod.contains("spec")) return;
  KeepMembers(pod["spec"], {"nodeName", "schedulingGates"});
}

void KeepOfChild(Json& child) { KeepMembers(child, {"apiVersion", "kind", "metadata"}); }

}  // namespace

ClusterView::ClusterView(kube::Client& client, const std::string& name_space,
                         GangScheduler gang_scheduler, ClusterViewHandler handler)
    : client_(client) {
  const auto options = [&](std::function<void(Json&)> transform) {
    kube::InformerOptions chosen;
    chosen.name_space = name_space;
    chosen.label_selector = fmt::format("{}={}", kManagerLabel, kManager);
    chosen.transform = std::move(transform);
    return chosen;
  };
  const auto informer = [&](std::function<void(const ObjectChange&)> changed) {
    return kube::InformerHandler{.changed = std::move(changed), .failed = handler.failed};
  };
  const auto child_changed = [handler](const ObjectChange& change) {
    if (!change.is_initial) handler.child_changed(JobOf(*change.object()));
  };
  kube::InformerOptions jobs;
  jobs.name_space = name_space;
  Add(TrainingJobs(), jobs, informer([handler](const ObjectChange& change) {
        handler.job_changed(kube::KeyOf(*change.object()), change.is_initial);
      }));
  kube::InformerOptions pods = options(KeepOfPod);
  pods.indexes = {{kByOwner, kube::OwnerUid}};
  Add(kube::Pods(), pods, informer([handler](const ObjectChange& change) {
        const ObjectKey job = JobOf(*change.object());
        handler.pod_changed(job, change);
        if (!change.is_initial) handler.child_changed(job);
      }));
  for (const kube::Resource& resource : {kube::Services(), kube::ConfigMaps(),
                                         kube::NetworkPolicies(), kube::PodDisruptionBudgets()})
    Add(resource, options(KeepOfChild), informer(child_changed));
  if (gang_scheduler != GangScheduler::kNone)
    Add(PodGroups(gang_scheduler), options(KeepOfChild), informer(child_changed));
}

kube::Informer& ClusterView::Add(const kube::Resource& resource, kube::InformerOptions options,
                                 kube::InformerHandler handler) {
  options.resource = resource;
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
  for (const auto& [plural, informer] : informers_)
    PACELINE_RETURN_IF_ERROR(informer->WaitForSync(deadline));
  return OkStatus();
}

bool ClusterView::HasSynced() const {
  for (const auto& [plural, informer] : informers_) {
    if (!informer->HasSynced()) return false;
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

kube::ObjectPtr ClusterView::Child(const std::string& plural, const ObjectKey& key) const {
  const auto found = informers_.find(plural);
  return found == informers_.end() ? nullptr : found->second->Find(key);
}

}  // namespace paceline::controller
