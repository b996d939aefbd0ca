#include "operator/objects/pods/disruption.h"

#include <utility>

#include "lib/job/state/checkpoint_place.h"
#include "operator/objects/json_at.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

constexpr std::pair<const char*, const char*> kStay[] = {
    {"karpenter.sh/do-not-disrupt", "true"},
    {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
};

}  // namespace

bool CannotBeDisrupted(const job::TrainingJob& job) {
  if (job::IsFinished(job.status) || job.spec.run_policy.suspend) return false;
  return job.status.remembered && !job.status.remembered->no_checkpoints.empty();
}

std::string ServersBudgetName(const job::TrainingJob& job) { return job.metadata.name + "-ps"; }

BudgetOfGroup BuildServersBudget(const job::TrainingJob& job) {
  BudgetOfGroup servers{.name = ServersBudgetName(job)};
  if (!CannotBeDisrupted(job)) return servers;
  const Json selector = {{std::string(kJobLabel), job.metadata.name},
                         {std::string(kRoleLabel), ContainerName(job::Role::kParameterServer)}};
  servers.budget = {{"apiVersion", "policy/v1"},
                    {"kind", "PodDisruptionBudget"},
                    {"metadata", ChildMetadata(job, servers.name, JobLabels(job))},
                    {"spec",
                     {{"minAvailable", job.spec.parameter_server.shards},
                      {"selector", {{"matchLabels", selector}}}}}};
  MarkWanted(*servers.budget);
  return servers;
}

void LayDisruption(const job::TrainingJob& job, const job::Start& start, Json& pod) {
  if (start.role != job::Role::kParameterServer) return;
  if (job::CheckpointPlaceOf(job.spec, start.shares_output) != job::CheckpointPlace::kNowhere)
    return;
  Json& annotations = pod["metadata"]["annotations"];
  for (const auto& [key, value] : kStay) {
    if (TextAt(annotations, key).empty()) annotations[key] = value;
  }
}

}  // namespace paceline::controller
