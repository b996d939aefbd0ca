#include "operator/objects/pods/arguments.h"

#include <fmt/format.h>

#include "lib/job/state/checkpoint_place.h"
#include "lib/job/state/device.h"
#include "lib/job/state/model_place.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

using Arguments = std::vector<std::string>;

constexpr std::string_view kTerminationLog = "/dev/termination-log";  // Kubernetes' default.
constexpr std::string_view kScratchFolder = "/tmp";
constexpr int kFormerPodSeconds = 60;  // A deleted job's pods have 30 by default, and a kubelet.

void Append(Arguments& to, Arguments more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string BulkAddress(const std::string& host) { return fmt::format("{}:{}", host, kBulkPort); }

std::string CoordinatorAddress(const job::TrainingJob& job) {
  return BulkAddress(PodHost(job, job::Role::kParameterServer, 0));
}

Arguments ServerArguments(const job::TrainingJob& job, const job::Start& start) {
  Arguments arguments = {"--rank",      std::to_string(start.index),
                         "--listen",    BulkAddress("0.0.0.0"),
                         "--advertise", BulkAddress(PodHost(job, start.role, start.index)),
                         "--http-host", "0.0.0.0",
                         "--http-port", std::to_string(kMetricsPort)};
  const job::CheckpointPlace place = job::CheckpointPlaceOf(job.spec, start.shares_output);
  if (place == job::CheckpointPlace::kOutputVolume) {
    Append(arguments, {"--checkpoint", DefaultCheckpointFolder(job), "--default-checkpoints"});
  } else if (place != job::CheckpointPlace::kNowhere) {
    Append(arguments, {"--checkpoint", std::string(kCheckpointFolder)});
  }
  if (start.index > 0) {
    Append(arguments, {"--coordinator", CoordinatorAddress(job)});
    return arguments;
  }
  // Default ones are in a folder of this job's alone.
  if (job::HasCheckpoints(job.spec)) {
    const bool is_from_claim = job.spec.checkpoint->resume == job::CheckpointResume::kFromClaim;
    Append(arguments, {"--resume", is_from_claim ? "from-claim" : "own"});
  }
  const std::string_view output = job.spec.output.volume ? kOutputFolder : kScratchFolder;
  Append(arguments, {"--generation-start", std::to_string(start.generation_start), "--output",
                     fmt::format("{}/model.safetensors", output)});
  if (job.spec.output.volume)
    Append(arguments, {"--lock-output", std::to_string(kFormerPodSeconds)});
  if (job.spec.output.volume && job.spec.observability.trace.max_bytes.value_or(0) > 0)
    Append(arguments, {"--trace", TraceFolder(job) + "/policy.trace"});
  if (job::GoesWithPod(job.spec)) Append(arguments, {"--serve-model"});
  // What is missing is the planner's to judge, by what the scheduler says of it.
  Append(arguments, {"--wait-for-processes"});
  Append(arguments, {"--final-state", std::string(kTerminationLog)});
  Append(arguments, {"--api-host", "0.0.0.0", "--api-port", std::to_string(kApiPort)});
  if (NeedsToken(job))
    Append(arguments, {"--token-file", fmt::format("{}/{}", kTokenFolder, kTokenKey)});
  return arguments;
}

// As worker/device.h takes it.
std::string_view DeviceWord(job::Computes device) {
  switch (device) {
    case job::Computes::kCpu:
      return "cpu";
    case job::Computes::kCuda:
      return "cuda";
    case job::Computes::kCudaIfUsable:
      return "cuda-if-usable";
  }
  return "cpu";
}

Arguments WorkerArguments(const job::TrainingJob& job, const job::Start& start) {
  const job::Computes device = job::DeviceOf(job.spec, start.role, start.group).device;
  Arguments arguments = {"--role",        std::string(ContainerName(start.role)),
                         "--index",       std::to_string(start.index),
                         "--device",      std::string(DeviceWord(device)),
                         "--attempt",     std::to_string(start.attempt),
                         "--folder",      std::string(kJobFolder),
                         "--coordinator", CoordinatorAddress(job)};
  if (!start.group.empty()) Append(arguments, {"--group", start.group});
  return arguments;
}

}  // namespace

std::string ProgramOf(job::Role role) {
  return role == job::Role::kParameterServer ? "paceline-ps" : "paceline-worker";
}

Arguments ProgramArguments(const job::TrainingJob& job, const job::Start& start) {
  Arguments arguments = {"--job", fmt::format("{}/{}", kConfigFolder, kConfigKey)};
  Append(arguments, start.role == job::Role::kParameterServer ? ServerArguments(job, start)
                                                              : WorkerArguments(job, start));
  if (job.spec.security.mtls == job::Toggle::kEnabled)
    Append(arguments, {"--tls-folder", std::string(kTlsFolder)});
  Append(arguments,
         {"--log-format", "json", "--termination-message", std::string(kTerminationLog)});
  return arguments;
}

}  // namespace paceline::controller
