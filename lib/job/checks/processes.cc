#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/checks/counts.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

void CheckCounts(const Workers& workers, Findings& findings) {
  if (workers.min_replicas > workers.replicas) {
    findings.Add("spec.workers.minReplicas",
                 fmt::format("must be at most workers.replicas, {}: got {}", workers.replicas,
                             workers.min_replicas),
                 {"spec.workers.replicas"});
  }
  if (workers.max_replicas && *workers.max_replicas < workers.replicas) {
    findings.Add("spec.workers.maxReplicas",
                 fmt::format("must be at least workers.replicas, {}: got {}", workers.replicas,
                             *workers.max_replicas),
                 {"spec.workers.replicas"});
  }
}

void CheckVolume(const std::string& path, const Volume& volume, Findings& findings) {
  const int sources = int{volume.persistent_volume_claim.has_value()} +
                      int{volume.host_path.has_value()} + int{volume.empty_dir.has_value()} +
                      static_cast<int>(volume.others.size());
  if (sources == 1) return;
  findings.Add(path, fmt::format("must have one volume source, such as persistentVolumeClaim, "
                                 "hostPath or emptyDir: got {}",
                                 sources));
}

void CheckRunPolicy(const JobSpec& spec, Findings& findings) {
  const RunPolicy& policy = spec.run_policy;
  const int64_t processes =
      Sum(Sum(spec.parameter_server.shards, ReplicasOf(spec.workers)), spec.evaluator ? 1 : 0);
  if (policy.scheduling_policy.min_available &&
      *policy.scheduling_policy.min_available > processes) {
    findings.Add("spec.runPolicy.schedulingPolicy.minAvailable",
                 fmt::format("must be at most the job's processes, {}: got {}", processes,
                             *policy.scheduling_policy.min_available),
                 {"spec.workers.replicas", "spec.workers.groups", "spec.parameterServer.shards",
                  "spec.evaluator"});
  }
  const std::string& manager = policy.managed_by;
  if (std::count(manager.begin(), manager.end(), '/') != 1 || manager.front() == '/' ||
      manager.back() == '/') {
    findings.Add(
        "spec.runPolicy.managedBy",
        fmt::format(
            "must be a domain, a slash and a name, such as paceline.dev/operator: got \"{}\"",
            manager));
  }
}

void CheckObservability(const Observability& observability, Findings& findings) {
  const int64_t bytes = observability.trace.max_bytes.value_or(0);
  if (bytes == 0 || bytes >= 1 << 20) return;
  findings.Add("spec.observability.trace.maxBytes",
               fmt::format("must be 0, for no trace, or at least {}: got {}", 1 << 20, bytes));
}

void CheckFailurePolicy(const RunPolicy& policy, Findings& findings) {
  if (!policy.failure_policy) return;
  const std::vector<FailureRule>& rules = policy.failure_policy->rules;
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string path = fmt::format("spec.runPolicy.failurePolicy.rules[{}]", i);
    const bool has_codes = rules[i].on_exit_codes.has_value();
    const bool has_conditions = !rules[i].on_pod_conditions.empty();
    if (has_codes == has_conditions) {
      findings.Add(path,
                   fmt::format("must have onExitCodes or onPodConditions, and not both: got {}",
                               has_codes ? "both" : "neither"));
    }
    if (has_codes && rules[i].on_exit_codes->values.empty())
      findings.Add(path + ".onExitCodes.values", "must have an exit code: got none");
  }
}

void CheckWritable(const std::string& path, std::string_view what, const Volume& volume,
                   Findings& findings) {
  const auto& claim = volume.persistent_volume_claim;
  if (claim && claim->read_only) {
    findings.Add(path + ".persistentVolumeClaim.readOnly",
                 fmt::format("must be false, {} written there: got true", what));
  }
}

}  // namespace

void CheckProcesses(const TrainingJob& job, Findings& findings) {
  const JobSpec& spec = job.spec;
  CheckCounts(spec.workers, findings);
  CheckFailurePolicy(spec.run_policy, findings);
  if (spec.evaluator && !spec.data.eval && spec.workers.command.empty()) {
    findings.Add("spec.evaluator", "needs data.eval, the held-out samples that it evaluates on",
                 {"spec.data.eval"});
  }
  if (spec.checkpoint) {
    const bool has_volume = spec.checkpoint->volume.has_value();
    const bool has_template = spec.checkpoint->volume_claim_template.has_value();
    if (has_volume == has_template && (spec.checkpoint->enabled || has_volume)) {
      findings.Add("spec.checkpoint", fmt::format("must have volume or volumeClaimTemplate: got {}",
                                                  has_volume ? "both" : "neither"));
    }
    if (has_volume) {
      CheckVolume("spec.checkpoint.volume", *spec.checkpoint->volume, findings);
      CheckWritable("spec.checkpoint.volume", "checkpoints are", *spec.checkpoint->volume,
                    findings);
    }
    if (has_volume && spec.checkpoint->claim_retention) {
      findings.Add("spec.checkpoint.persistentVolumeClaimRetentionPolicy",
                   "is for the claims that volumeClaimTemplate makes; a volume of yours is never "
                   "deleted: leave it out",
                   {"spec.checkpoint.volume"});
    }
  }
  if (spec.output.volume) {
    CheckVolume("spec.output.volume", *spec.output.volume, findings);
    CheckWritable("spec.output.volume", "the model is", *spec.output.volume, findings);
  }
  CheckRunPolicy(spec, findings);
  CheckObservability(spec.observability, findings);
}

}  // namespace paceline::job
