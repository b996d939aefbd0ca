#include "lib/worker/process/life.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "lib/base/limits.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/optimizer_options.h"
#include "lib/job/wire_types.h"
#include "lib/job/worker_groups.h"
#include "lib/process/exit.h"
#include "lib/process/read_file.h"
#include "lib/rpc/control/frozen_call.h"
#include "lib/rpc/retry.h"
#include "lib/rpc/tls_credentials.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"
#include "lib/tls/identity.h"
#include "lib/worker/loop/pulsing_trainer.h"
#include "lib/worker/loop/push_log.h"
#include "lib/worker/signals/cgroup.h"
#include "lib/worker/signals/gpu_memory.h"
#include "lib/worker/signals/host_signals.h"
#include "lib/worker/signals/threads.h"

namespace paceline::worker {
namespace {

using telemetry::Log;
using telemetry::LogLevel;

std::string VisibleGpus() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : visible;
}

StatusOr<job::TrainingJob> ReadJob(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text,
                            process::ReadFile(path, limits::kStoredJobBytesMax));
  job::Decoded decoded = job::FromJsonText(text, job::UnknownFields::kIgnore);
  if (!decoded.errors.empty())
    return InvalidArgument("{}: {}", path, job::ToString(decoded.errors.front()));
  for (const std::string& field : decoded.ignored)
    Log(LogLevel::kWarning, "field of a later version ignored", {{"field", field}});
  return std::move(decoded.job);
}

StatusOr<ConnectionOptions> ConnectionsOf(const WorkerOptions& options,
                                          const job::TrainingJob& job) {
  ConnectionOptions connections{.coordinator = options.coordinator,
                                .connect_timeout = options.connect_timeout};
  connections.transfer_idle = Seconds(job.spec.network.transfer_idle_seconds);
  connections.bucket_bytes = static_cast<uint64_t>(job.spec.network.bucket_bytes);
  if (!options.is_evaluator()) connections.types = job::WireTypesOf(job.spec.network);
  connections.pulls_average = options.is_evaluator() && job.spec.training.ema.has_value();
  connections.shares_memory = job.spec.network.transport == job::Transport::kAuto;
  if (options.tls_folder.empty()) return connections;
  PACELINE_ASSIGN_OR_RETURN(const rpc::TlsCredentials credentials,
                            rpc::LoadTlsCredentials({options.tls_folder}));
  connections.channel = {
      .credentials = credentials.channel,
      .peer_names = [name = job.metadata.name, name_space = job.metadata.name_space](ShardId rank) {
        return tls::NameOf({tls::Role::kPs, rank.value()}, name, name_space);
      }};
  return connections;
}

// A process that nobody counts on any more must not stay, whatever its step does.
void EndStuck(const WorkerOptions& options, const std::string& why) {
  process::EndProcess(
      process::CannotWorkHere(PermissionDenied("{}; its step does not come back", why)),
      "paceline-worker", options.termination_message);
}

// Expelled: this process, perhaps its machine, is ill; another one may be well.
Status WhoseFault(const Status& status) {
  return Detail(status, kExpelledDetail) ? process::CannotWorkHere(status) : status;
}

std::optional<int64_t> AskedThreads(const job::TrainingJob& job, const WorkerOptions& options) {
  if (options.is_evaluator()) return std::nullopt;
  const auto group = job::FindGroup(job.spec.workers, options.group);
  return group ? group->threads : std::nullopt;
}

}  // namespace

StatusOr<std::unique_ptr<Life>> Life::Create(WorkerOptions options) {
  PACELINE_ASSIGN_OR_RETURN(job::TrainingJob job, ReadJob(options.job_file));
  PACELINE_ASSIGN_OR_RETURN(ConnectionOptions connections, ConnectionsOf(options, job));
  return std::unique_ptr<Life>(
      new Life(std::move(options), std::move(job), std::move(connections)));
}

Life::Life(WorkerOptions options, job::TrainingJob job, ConnectionOptions connections)
    : options_(std::move(options)), job_(std::move(job)), connections_(std::move(connections)) {}

int Life::ChooseThreads() const {
  const Threads threads =
      worker::ChooseThreads(AskedThreads(job_, options_), std::getenv("OMP_NUM_THREADS"),
                            Cgroup(KernelPaths{}).Read().cores_max);
  if (!threads.ignored.empty())
    Log(LogLevel::kWarning, "a setting is ignored", {{"why", threads.ignored}});
  Log(LogLevel::kInfo, "threads to compute with",
      {{"threads", fmt::format("{}", threads.count)}, {"from", threads.why}});
  return threads.count;
}

bool Life::is_draining() const {
  std::lock_guard lock(mutex_);
  return is_draining_;
}

std::string Life::Sender() const {
  return fmt::format("{}/{}#{:08x}", options_.group, options_.index, std::random_device()());
}

Adoption Life::Adopt(
    FrozenSource source,
    std::function<bool(uint64_t, uint64_t, std::span<const std::byte>)> take) const {
  return Adoption(
      {.source = std::move(source),
       .is_handed = !options_.is_evaluator(),
       .sender = Sender(),
       .call = rpc::CallForFrozen(options_.coordinator, kAttemptTimeout, connections_.channel),
       .take = std::move(take),
       .now = telemetry::SteadyNow,
       .patience = connections_.connect_timeout});
}

Connector Life::HandOverFirst(FrozenSource source, Connector connector) {
  if (source.bytes == 0) return connector;
  HandOverOptions options{
      .sender = Sender(),
      .call = rpc::CallForFrozen(options_.coordinator, kAttemptTimeout, connections_.channel),
      .sleep = rpc::ThreadSleeper(),
      .is_cancelled = [this] { return is_draining(); }};
  connector.connect = [source = std::move(source), options = std::move(options),
                       connect =
                           std::move(connector.connect)]() -> StatusOr<std::unique_ptr<Session>> {
    PACELINE_RETURN_IF_ERROR(HandOver(source, options));
    return connect();
  };
  return connector;
}

StatusOr<std::string> Life::Run(Trainer* trainer, const std::string& device, int threads,
                                DrawnEpochs* drawn, FrozenOfTrainer frozen) {
  const bool is_evaluator = options_.is_evaluator();
  HostSignals host(KernelPaths{}, OpenGpuMemory(device, VisibleGpus()));
  // An evaluator has no pace to keep, and pushes nothing.
  PACELINE_ASSIGN_OR_RETURN(Experiment experiment,
                            Experiment::Create(is_evaluator ? job::Chaos() : job_.spec.chaos,
                                               {options_.group, options_.index}, options_.folder));
  ConnectionOptions connections = connections_;
  connections.threads = threads;
  Connector connector = HandOverFirst(is_evaluator ? FrozenSource() : std::move(frozen.source),
                                      GrpcConnector(connections));
  if (!options_.push_log.empty() && !is_evaluator) {
    PACELINE_ASSIGN_OR_RETURN(
        std::shared_ptr<PushLog> log,
        PushLog::Open(options_.push_log, WorkerId(options_.index), options_.group));
    connector = PushLog::Watch(std::move(log), std::move(connector));
  }
  PulsingTrainer pulsing(trainer, &pulse_);
  const job::StragglerPolicy& policy = job_.spec.workers.straggler_policy;
  Loop loop({.role = is_evaluator ? protocol::Role::kEvaluator : protocol::Role::kWorker,
             .worker = WorkerId(options_.index),
             .group = options_.group,
             .device = device == "cuda" ? "CUDA" : "CPU",
             .threads = static_cast<uint32_t>(threads),
             .wire_types = connections_.types,
             .rejoin_timeout = connections_.connect_timeout,
             .now = telemetry::SteadyNow,
             .read_signals = [&host](Time now) { return host.Read(now); },
             .local = {.optimizer = job::OptimizerOptionsFrom(job_),
                       .parameter_groups = job::ParameterGroupsFrom(job_),
                       .gradient_clip_norm = job_.spec.training.gradient_clip_norm},
             .attempt = options_.attempt,
             .pulse = &pulse_,
             .drawn = drawn,
             .frozen = std::move(frozen.tensors),
             .on_stuck = [this](const std::string& why) { EndStuck(options_, why); },
             .stuck_alone_after = Seconds(
                 std::max(policy.first_step_seconds,
                          job_.spec.workers.command.empty() ? 0.0 : policy.user_code_seconds))},
            experiment.Throttle(std::move(connector)), experiment.Delay(&pulsing, &pulse_));
  {
    std::lock_guard lock(mutex_);
    if (is_draining_) return std::string("drained");
    loop_ = &loop;
  }
  StatusOr<std::string> run = loop.Run();
  {
    std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }
  experiment.SayTotals();
  if (!run.ok()) return WhoseFault(run.status());
  return run;
}

void Life::Drain(const protocol::Leaving& leaving) {
  std::lock_guard lock(mutex_);
  is_draining_ = true;
  if (loop_ != nullptr) loop_->Drain(leaving);
}

}  // namespace paceline::worker
