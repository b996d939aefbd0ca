// Names the objects, labels, ports and paths that the operator gives to a job's pods and to what
// stands around them. Whoever asks for the same thing gets the same name, so that creating twice is
// a conflict and not a second object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/plan.h"
#include "lib/job/ports.h"
#include "lib/job/process_name.h"
#include "lib/job/state/model_place.h"
#include "lib/tls/identity.h"

namespace paceline::controller {

using job::kApiPort;
using job::kBulkPort;
using job::kMetricsPort;

inline constexpr std::string_view kJobFolder = "/paceline/job";  // Relative paths start here.
inline constexpr std::string_view kConfigFolder = "/paceline/config";
inline constexpr std::string_view kConfigKey = "job.json";
inline constexpr std::string_view kTlsFolder = "/paceline/tls";
inline constexpr std::string_view kTokenFolder = "/paceline/token";
inline constexpr std::string_view kTokenKey = job::kTokenKey;  // In the Secret, and as a file.
inline constexpr std::string_view kOutputFolder = "/paceline/output";
inline constexpr std::string_view kCheckpointFolder = "/paceline/checkpoint";

inline constexpr std::string_view kJobLabel = "paceline.dev/job";
inline constexpr std::string_view kRoleLabel = "paceline.dev/role";
// Which process it is (job::ProcessId). Older operators' pods have no group: theirs is
// GroupOf(role).
inline constexpr std::string_view kGroupLabel = "paceline.dev/group";
inline constexpr std::string_view kIndexLabel = "paceline.dev/index";
inline constexpr std::string_view kInstanceLabel = "app.kubernetes.io/instance";
inline constexpr std::string_view kManagerLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManager = "paceline-operator";

// What a pod carries of its Start, so that the planner gets it back.
inline constexpr std::string_view kGenerationAnnotation = "paceline.dev/generation-start";
inline constexpr std::string_view kAttemptAnnotation = "paceline.dev/attempt";
inline constexpr std::string_view kFailuresAnnotation = "paceline.dev/failures";
inline constexpr std::string_view kUnfitAnnotation = "paceline.dev/unfit";
inline constexpr std::string_view kDisruptionsAnnotation = "paceline.dev/disruptions";
// Of a Secret of certificates: when the first of them is due, in seconds since 1970, and what
// proves that the operator wrote all of it.
inline constexpr std::string_view kRenewAnnotation = "paceline.dev/renew-at";
inline constexpr std::string_view kSealAnnotation = "paceline.dev/seal";
// Of a claim: uid of the job that made it, whose policy about it counts. It outlives that job.
inline constexpr std::string_view kMadeByAnnotation = "paceline.dev/made-by";
// Argo CD's: what becomes of an object that it tracks and that is not, or no more, in its
// repository.
inline constexpr std::string_view kSyncAnnotation = "argocd.argoproj.io/sync-options";
inline constexpr std::string_view kNeverPruned = "Prune=false,Delete=false";
// Of a job's ConfigMap, its first child: which installation of Paceline the job is of.
inline constexpr std::string_view kInstallationAnnotation = "paceline.dev/installation";
// Of a job's ConfigMap: the defaults that its pods have since its first start (pod_defaults.h).
inline constexpr std::string_view kDefaultsAnnotation = "paceline.dev/pod-defaults";
// Of an object that the operator keeps as it is: a hash of what it wants there.
inline constexpr std::string_view kWantedAnnotation = "paceline.dev/wanted";

// "ps", "worker", "evaluator": the containers that are Paceline's own.
std::string_view ContainerName(job::Role role);

// Labels of everything that belongs to the job, and of its pods of one role.
std::map<std::string, std::string> JobLabels(const job::TrainingJob& job);
std::map<std::string, std::string> PodLabels(const job::TrainingJob& job, const job::Start& start);

std::string ServiceName(const job::TrainingJob& job);
std::string ConfigMapName(const job::TrainingJob& job);
// `group`: empty in a job without groups.
std::string DisruptionBudgetName(const job::TrainingJob& job, std::string_view group);
std::string CheckpointClaimName(const job::TrainingJob& job, int64_t shard);
// Of checkpoints that nobody asked for, in the output's volume: this job's alone.
std::string DefaultCheckpointFolder(const job::TrainingJob& job);
// Of the policy's trace, in the same place.
std::string TraceFolder(const job::TrainingJob& job);

// The name in a process's certificate: "worker-3.digits.research". tls::Role::kOperator is this
// program, as a client of the coordinator; it issues its own and keeps that to itself, while the
// pods' lie in Secrets, of which each pod mounts its own items.
std::string TlsName(const job::TrainingJob& job, const tls::Identity& identity);
tls::Role TlsRoleOf(job::Role role);

// The pods' certificates of one role, or group of workers, with indices from `number` *
// kIdentitiesPerSecret on: as many as fit into one Secret (1 MiB; one of these takes up to 600 KB).
inline constexpr uint64_t kIdentitiesPerSecret = 256;
struct TlsBlock {
  tls::Role role = tls::Role::kWorker;
  uint64_t number = 0;
  uint64_t count = 0;      // 1 to kIdentitiesPerSecret.
  std::string group = {};  // As tls::Identity has it.

  uint64_t first() const { return number * kIdentitiesPerSecret; }
  friend bool operator==(const TlsBlock&, const TlsBlock&) = default;
};
// All that the job's pods may need: of workers as many as it may be scaled to, so that scaling
// writes no Secret.
std::vector<TlsBlock> TlsBlocksOf(const job::TrainingJob& job);
// "digits-worker-tls-0" holds workers 0 to 255, "digits-big-tls-0" those of the group big.
std::string TlsSecretName(const job::TrainingJob& job, tls::Role role, uint64_t number,
                          std::string_view group = "");

// Holds what opens the model that the coordinator serves, and its control calls where no
// certificate does.
std::string TokenSecretName(const job::TrainingJob& job);
bool NeedsToken(const job::TrainingJob& job);

// "digits-ps-0.digits.research.svc": where other pods find it, before it is ready too.
std::string PodHost(const job::TrainingJob& job, job::Role role, int64_t index);

}  // namespace paceline::controller
