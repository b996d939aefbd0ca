#include "operator/objects/names.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/job/state/model_place.h"
#include "lib/job/worker_groups.h"

namespace paceline::controller {
std::string_view ContainerName(job::Role role) { return job::ToWord(role); }

std::map<std::string, std::string> JobLabels(const job::TrainingJob& job) {
  return {{"app.kubernetes.io/name", "paceline"},
          {std::string(kInstanceLabel), job.metadata.name},
          {"app.kubernetes.io/part-of", "paceline"},
          {std::string(kManagerLabel), std::string(kManager)},
          {std::string(kJobLabel), job.metadata.name}};
}

std::map<std::string, std::string> PodLabels(const job::TrainingJob& job, const job::Start& start) {
  std::map<std::string, std::string> labels = JobLabels(job);
  labels["app.kubernetes.io/component"] = ContainerName(start.role);
  labels[std::string(kRoleLabel)] = ContainerName(start.role);
  const job::ProcessId process = job::IdOf(start.role, start.index, start.group);
  labels[std::string(kGroupLabel)] = process.group;
  labels[std::string(kIndexLabel)] = std::to_string(process.index);
  return labels;
}

std::string ServiceName(const job::TrainingJob& job) { return job.metadata.name; }

std::string ConfigMapName(const job::TrainingJob& job) { return job.metadata.name + "-job"; }

std::string DisruptionBudgetName(const job::TrainingJob& job, std::string_view group) {
  return group.empty() ? job.metadata.name + "-workers"
                       : fmt::format("{}-{}-budget", job.metadata.name, group);
}

std::string DefaultCheckpointFolder(const job::TrainingJob& job) {
  return fmt::format("{}/.{}-checkpoints-{}", kOutputFolder, job.metadata.name,
                     job.metadata.uid.value_or("none"));
}

std::string TraceFolder(const job::TrainingJob& job) {
  return fmt::format("{}/{}-trace-{}", kOutputFolder, job.metadata.name,
                     job.metadata.uid.value_or("none"));
}

std::string CheckpointClaimName(const job::TrainingJob& job, int64_t shard) {
  return fmt::format("{}-checkpoint-{}", job.metadata.name, shard);
}

std::string TlsName(const job::TrainingJob& job, const tls::Identity& identity) {
  return tls::NameOf(identity, job.metadata.name, job.metadata.name_space);
}

tls::Role TlsRoleOf(job::Role role) {
  switch (role) {
    case job::Role::kParameterServer:
      return tls::Role::kPs;
    case job::Role::kWorker:
      return tls::Role::kWorker;
    case job::Role::kEvaluator:
      return tls::Role::kEvaluator;
  }
  return tls::Role::kWorker;
}

std::vector<TlsBlock> TlsBlocksOf(const job::TrainingJob& job) {
  std::vector<TlsBlock> blocks;
  const auto add = [&blocks](tls::Role role, int64_t processes, std::string_view group = "") {
    const auto count = static_cast<uint64_t>(processes);
    for (uint64_t number = 0; number * kIdentitiesPerSecret < count; ++number) {
      blocks.push_back({role, number,
                        std::min(count - number * kIdentitiesPerSecret, kIdentitiesPerSecret),
                        std::string(group)});
    }
  };
  add(tls::Role::kPs, job.spec.parameter_server.shards);
  for (const job::GroupView& group : job::GroupsOf(job.spec.workers))
    add(tls::Role::kWorker, std::max(group.replicas, group.most), group.name);
  add(tls::Role::kEvaluator, job.spec.evaluator ? 1 : 0);
  return blocks;
}

std::string TlsSecretName(const job::TrainingJob& job, tls::Role role, uint64_t number,
                          std::string_view group) {
  return fmt::format("{}-{}-tls-{}", job.metadata.name, group.empty() ? tls::GroupOf(role) : group,
                     number);
}

std::string TokenSecretName(const job::TrainingJob& job) {
  return job::TokenSecretName(job.metadata.name);
}

bool NeedsToken(const job::TrainingJob& job) {
  return job.spec.security.mtls == job::Toggle::kDisabled || job::GoesWithPod(job.spec);
}

std::string PodHost(const job::TrainingJob& job, job::Role role, int64_t index) {
  return fmt::format("{}.{}.{}.svc", job::ProcessName(job.metadata.name, role, index),
                     ServiceName(job), job.metadata.name_space);
}

}  // namespace paceline::controller
