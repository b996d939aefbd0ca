// Names the objects, labels, ports and paths that the operator gives to a job's pods and to what
// stands around them. Whoever asks for the same thing gets the same name, so that creating twice is
// a conflict and not a second object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lib/job/ports.h"
#include "lib/job/process_name.h"
#include "lib/job/training_job.h"

namespace paceline::controller {

using job::kApiPort;
using job::kBulkPort;
using job::kMetricsPort;

inline constexpr std::string_view kJobFolder = "/paceline/job";  // Relative paths start here.
inline constexpr std::string_view kConfigFolder = "/paceline/config";
inline constexpr std::string_view kConfigKey = "job.json";
inline constexpr std::string_view kTlsFolder = "/paceline/tls";
inline constexpr std::string_view kOutputFolder = "/paceline/output";
inline constexpr std::string_view kCheckpointFolder = "/paceline/checkpoint";

inline constexpr std::string_view kJobLabel = "paceline.dev/job";
inline constexpr std::string_view kRoleLabel = "paceline.dev/role";
inline constexpr std::string_view kIndexLabel = "paceline.dev/index";
inline constexpr std::string_view kManagerLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManager = "paceline-operator";

// What a pod carries of its Start, so that the planner gets it back.
inline constexpr std::string_view kGenerationAnnotation = "paceline.dev/generation-start";
inline constexpr std::string_view kAttemptAnnotation = "paceline.dev/attempt";
inline constexpr std::string_view kFailuresAnnotation = "paceline.dev/failures";
// Of an object that the operator keeps as it is: a hash of what it wants there.
inline constexpr std::string_view kWantedAnnotation = "paceline.dev/wanted";

// "ps", "worker", "evaluator": the containers that are Paceline's own.
std::string_view ContainerName(job::Role role);

// Labels of everything that belongs to the job, and of its pods of one role.
std::map<std::string, std::string> JobLabels(const job::TrainingJob& job);
std::map<std::string, std::string> PodLabels(const job::TrainingJob& job, job::Role role,
                                             int64_t index);

std::string ServiceName(const job::TrainingJob& job);
std::string ConfigMapName(const job::TrainingJob& job);
std::string DisruptionBudgetName(const job::TrainingJob& job);
std::string CheckpointClaimName(const job::TrainingJob& job, int64_t shard);
// Of checkpoints that nobody asked for, in the output's volume: this job's alone.
std::string DefaultCheckpointFolder(const job::TrainingJob& job);

// Who a certificate is for. kOperator is this program, as a client of the coordinator; it issues
// its own and keeps that to itself, while the pods' lie in Secrets that they mount.
enum class TlsRole { kServer, kWorker, kEvaluator, kOperator };
inline constexpr TlsRole kPodTlsRoles[] = {TlsRole::kServer, TlsRole::kWorker, TlsRole::kEvaluator};
std::string TlsSecretName(const job::TrainingJob& job, TlsRole role);
// The name in the certificate: "ps.digits.research".
std::string TlsName(const job::TrainingJob& job, TlsRole role);
TlsRole TlsRoleOf(job::Role role);

// "digits-ps-0.digits.research.svc": where other pods find it, before it is ready too.
std::string PodHost(const job::TrainingJob& job, job::Role role, int64_t index);

}  // namespace paceline::controller
