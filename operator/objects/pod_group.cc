#include "operator/objects/pod_group.h"

#include "lib/job/manifest/encode.h"
#include "operator/objects/names.h"

namespace paceline::controller {

bool WantsPodGroup(const job::TrainingJob& job, const ObjectOptions& options) {
  return options.gang_scheduler != GangScheduler::kNone &&
         job::AsksForGang(job.spec.run_policy.scheduling_policy);
}

std::string PodGroupName(const job::TrainingJob& job) { return job.metadata.name; }

std::optional<Json> BuildPodGroup(const job::TrainingJob& job, const ObjectOptions& options) {
  if (!WantsPodGroup(job, options)) return std::nullopt;
  const job::SchedulingPolicy& policy = job.spec.run_policy.scheduling_policy;
  Json spec = {{"minMember", policy.min_available.value_or(job.spec.parameter_server.shards +
                                                           job.spec.workers.min_replicas)}};
  if (policy.min_resources) spec["minResources"] = job::ToJson(*policy.min_resources);
  const bool is_volcano = options.gang_scheduler == GangScheduler::kVolcano;
  if (is_volcano) {
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
