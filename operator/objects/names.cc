#include "operator/objects/names.h"

#include <fmt/format.h>

namespace paceline::controller {
namespace {

std::string_view Word(TlsRole role) {
  switch (role) {
    case TlsRole::kServer:
      return "ps";
    case TlsRole::kWorker:
      return "worker";
    case TlsRole::kEvaluator:
      return "evaluator";
    case TlsRole::kOperator:
      return "operator";
  }
  return "";
}

}  // namespace

std::string_view ContainerName(job::Role role) { return job::ToWord(role); }

std::map<std::string, std::string> JobLabels(const job::TrainingJob& job) {
  return {{"app.kubernetes.io/name", "paceline"},
          {"app.kubernetes.io/instance", job.metadata.name},
          {"app.kubernetes.io/part-of", "paceline"},
          {std::string(kManagerLabel), std::string(kManager)},
          {std::string(kJobLabel), job.metadata.name}};
}

std::map<std::string, std::string> PodLabels(const job::TrainingJob& job, job::Role role,
                                             int64_t index) {
  std::map<std::string, std::string> labels = JobLabels(job);
  labels["app.kubernetes.io/component"] = ContainerName(role);
  labels[std::string(kRoleLabel)] = ContainerName(role);
  labels[std::string(kIndexLabel)] = std::to_string(index);
  return labels;
}

std::string ServiceName(const job::TrainingJob& job) { return job.metadata.name; }

std::string ConfigMapName(const job::TrainingJob& job) { return job.metadata.name + "-job"; }

std::string DisruptionBudgetName(const job::TrainingJob& job) {
  return job.metadata.name + "-workers";
}

std::string DefaultCheckpointFolder(const job::TrainingJob& job) {
  return fmt::format("{}/.{}-checkpoints-{}", kOutputFolder, job.metadata.name,
                     job.metadata.uid.value_or("none"));
}

std::string CheckpointClaimName(const job::TrainingJob& job, int64_t shard) {
  return fmt::format("{}-checkpoint-{}", job.metadata.name, shard);
}

std::string TlsSecretName(const job::TrainingJob& job, TlsRole role) {
  return fmt::format("{}-{}-tls", job.metadata.name, Word(role));
}

std::string TlsName(const job::TrainingJob& job, TlsRole role) {
  return fmt::format("{}.{}.{}", Word(role), job.metadata.name, job.metadata.name_space);
}

TlsRole TlsRoleOf(job::Role role) {
  switch (role) {
    case job::Role::kParameterServer:
      return TlsRole::kServer;
    case job::Role::kWorker:
      return TlsRole::kWorker;
    case job::Role::kEvaluator:
      return TlsRole::kEvaluator;
  }
  return TlsRole::kWorker;
}

std::string PodHost(const job::TrainingJob& job, job::Role role, int64_t index) {
  return fmt::format("{}.{}.{}.svc", job::ProcessName(job.metadata.name, role, index),
                     ServiceName(job), job.metadata.name_space);
}

}  // namespace paceline::controller
