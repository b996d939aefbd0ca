#include "operator/objects/pods/pod_group.h"

#include "lib/job/manifest/encode.h"
#include "lib/job/worker_groups.h"
#include "operator/objects/names.h"

namespace paceline::controller {

namespace {

// Of each kind of pod, by its group: of one there may be more than it takes, which makes up for
// none of another.
Json MinimaOf(const job::TrainingJob& job) {
  Json minima = {
      {std::string(job::GroupOf(job::Role::kParameterServer)), job.spec.parameter_server.shards}};
  for (const job::GroupView& group : job::GroupsOf(job.spec.workers)) {
    if (group.needed > 0) minima[std::string(group.name)] = group.needed;
  }
  return minima;
}

}  // namespace

bool WantsPodGroup(const job::TrainingJob& job, const ObjectOptions& options) {
  return options.gang_scheduler != GangScheduler::kNone &&
         job::AsksForGang(job.spec.run_policy.scheduling_policy);
}

std::string PodGroupName(const job::TrainingJob& job) { return job.metadata.name; }

std::optional<Json> BuildPodGroup(const job::TrainingJob& job, const ObjectOptions& options) {
  if (!WantsPodGroup(job, options)) return std::nullopt;
  const job::SchedulingPolicy& policy = job.spec.run_policy.scheduling_policy;
  Json spec = {{"minMember", policy.min_available.value_or(job.spec.parameter_server.shards +
                                                           job::NeededOf(job.spec.workers))}};
  if (policy.min_resources) spec["minResources"] = job::ToJson(*policy.min_resources);
  const bool is_volcano = options.gang_scheduler == GangScheduler::kVolcano;
  if (is_volcano) {
    if (!policy.min_available && !job.spec.workers.groups.empty())
      spec["minTaskMember"] = MinimaOf(job);
    if (policy.queue) spec["queue"] = *policy.queue;
    if (policy.priority_class) spec["priorityClassName"] = *policy.priority_class;
  } else {
    spec["scheduleTimeoutSeconds"] = policy.schedule_timeout_seconds;
  }
  Json group = {
      {"apiVersion", is_volcano ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1"},
      {"kind", "PodGroup"},
      {"metadata", ChildMetadata(job, PodGroupName(job), JobLabels(job))},
      {"spec", std::move(spec)}};
  MarkWanted(group);
  return group;
}

}  // namespace paceline::controller
