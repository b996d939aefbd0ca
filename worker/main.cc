#include <cstdlib>
#include <optional>

#include <CLI/CLI.hpp>

#include "lib/base/limits.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/optimizer_options.h"
#include "lib/job/wire_types.h"
#include "lib/job/worker_groups.h"
#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "lib/process/read_file.h"
#include "lib/process/termination.h"
#include "lib/rpc/bulk/allocator.h"
#include "lib/rpc/tls_credentials.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"
#include "lib/tls/identity.h"
#include "lib/worker/loop/loop.h"
#include "lib/worker/loop/pulsing_trainer.h"
#include "lib/worker/loop/push_log.h"
#include "lib/worker/signals/cgroup.h"
#include "lib/worker/signals/gpu_memory.h"
#include "lib/worker/signals/host_signals.h"
#include "lib/worker/signals/threads.h"
#include "worker/connections.h"
#include "worker/experiment.h"
#include "worker/torch_trainer.h"
#include "worker/training_options.h"

namespace paceline::worker {
namespace {

struct Options {
  std::string job_file;
  std::string folder = ".";  // Of the manifest; relative paths in the job start here.
  ConnectionOptions connections;
  std::string tls_folder;  // tls.crt, tls.key and ca.crt of the role; empty: plain text.
  std::string role = "worker";
  std::string group;  // Empty: the job has no groups of workers.
  uint32_t index = 0;
  std::string device = "cpu";
  std::string push_log;  // Folder of a worker's own account of its pushes; empty: none.
  std::optional<uint64_t> attempt;
  std::string termination_message;
  std::string log_format = "text";
};

std::string VisibleGpus() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : visible;
}

StatusOr<job::TrainingJob> ReadJob(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text,
                            process::ReadFile(path, limits::kStoredJobBytesMax));
  job::Decoded decoded = job::FromJsonText(text);
  if (!decoded.errors.empty())
    return InvalidArgument("{}: {}", path, job::ToString(decoded.errors.front()));
  return std::move(decoded.job);
}

// A process that nobody counts on any more must not stay, whatever its step does.
void EndStuck(const Options& options, const std::string& why) {
  process::EndProcess(
      process::CannotWorkHere(PermissionDenied("{}; its step does not come back", why)),
      "paceline-worker", options.termination_message);
}

// Expelled: this process, perhaps its machine, is ill; another one may be well.
Status WhoseFault(const Status& status) {
  return Detail(status, kExpelledDetail) ? process::CannotWorkHere(status) : status;
}

std::optional<int64_t> AskedThreads(const job::TrainingJob& job, const Options& options) {
  if (options.role == "evaluator") return std::nullopt;
  const auto group = job::FindGroup(job.spec.workers, options.group);
  return group ? group->threads : std::nullopt;
}

int ThreadsOf(const job::TrainingJob& job, const Options& options) {
  using telemetry::Log;
  using telemetry::LogLevel;
  const Threads threads = ChooseThreads(AskedThreads(job, options), std::getenv("OMP_NUM_THREADS"),
                                        Cgroup(KernelPaths{}).Read().cores_max);
  if (!threads.ignored.empty())
    Log(LogLevel::kWarning, "a setting is ignored", {{"why", threads.ignored}});
  Log(LogLevel::kInfo, "threads to compute with",
      {{"threads", fmt::format("{}", threads.count)}, {"from", threads.why}});
  return threads.count;
}

// Where batches were prepared ahead.
void SayData(const learn::DataCounts& counts) {
  if (counts.expected == 0 && counts.in_vain == 0) return;
  telemetry::Log(telemetry::LogLevel::kInfo, "batches",
                 {{"expected", counts.expected},
                  {"ready_when_needed", counts.ready},
                  {"gathered_when_needed", counts.gathered},
                  {"prepared_in_vain", counts.in_vain}});
}

Status Run(const Options& options) {
  PACELINE_ASSIGN_OR_RETURN(const job::TrainingJob job, ReadJob(options.job_file));
  ConnectionOptions connections = options.connections;
  connections.transfer_idle = Seconds(job.spec.network.transfer_idle_seconds);
  connections.bucket_bytes = static_cast<uint64_t>(job.spec.network.bucket_bytes);
  if (options.role != "evaluator") connections.types = job::WireTypesOf(job.spec.network);
  connections.shares_memory = job.spec.network.transport == job::Transport::kAuto;
  if (!options.tls_folder.empty()) {
    PACELINE_ASSIGN_OR_RETURN(const rpc::TlsCredentials credentials,
                              rpc::LoadTlsCredentials({options.tls_folder}));
    connections.channel = {.credentials = credentials.channel,
                           .peer_names = [name = job.metadata.name,
                                          name_space = job.metadata.name_space](ShardId rank) {
                             return tls::NameOf({tls::Role::kPs, rank.value()}, name, name_space);
                           }};
  }
  learn::TrainingOptions training = TrainingOptionsFrom(job, options.folder);
  const StatusOr<std::string> device = ChooseDevice(options.device);
  if (!device.ok()) return process::CannotWorkHere(device.status());
  training.device = *device;
  const bool is_evaluator = options.role == "evaluator";
  training.threads = ThreadsOf(job, options);
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<TorchTrainer> trainer,
                            TorchTrainer::Create(training));
  HostSignals host(KernelPaths{}, OpenGpuMemory(training.device, VisibleGpus()));
  // An evaluator has no pace to keep, and pushes nothing.
  PACELINE_ASSIGN_OR_RETURN(Experiment experiment,
                            Experiment::Create(is_evaluator ? job::Chaos() : job.spec.chaos,
                                               {options.group, options.index}, options.folder));
  Connector connector = GrpcConnector(connections);
  if (!options.push_log.empty() && !is_evaluator) {
    PACELINE_ASSIGN_OR_RETURN(
        std::shared_ptr<PushLog> log,
        PushLog::Open(options.push_log, WorkerId(options.index), options.group));
    connector = PushLog::Watch(std::move(log), std::move(connector));
  }
  Pulse pulse;
  PulsingTrainer pulsing(trainer.get(), &pulse);
  Loop loop({.role = is_evaluator ? protocol::Role::kEvaluator : protocol::Role::kWorker,
             .worker = WorkerId(options.index),
             .group = options.group,
             .device = *device == "cuda" ? "CUDA" : "CPU",
             .threads = static_cast<uint32_t>(training.threads),
             .wire_types = connections.types,
             .rejoin_timeout = connections.connect_timeout,
             .now = telemetry::SteadyNow,
             .read_signals = [&host](Time now) { return host.Read(now); },
             .local = {.optimizer = job::OptimizerOptionsFrom(job),
                       .gradient_clip_norm = job.spec.training.gradient_clip_norm},
             .attempt = options.attempt,
             .pulse = &pulse,
             .on_stuck = [&options](const std::string& why) { EndStuck(options, why); },
             .stuck_alone_after = Seconds(job.spec.workers.straggler_policy.first_step_seconds)},
            experiment.Throttle(std::move(connector)), experiment.Delay(&pulsing, &pulse));
  const process::TerminationSignals signals([&loop] { loop.Drain(); });
  const StatusOr<std::string> run = loop.Run();
  experiment.SayTotals();
  SayData(trainer->data_counts());
  if (!run.ok()) return WhoseFault(run.status());
  telemetry::Log(telemetry::LogLevel::kInfo, "leaving", {{"reason", *run}});
  return OkStatus();
}

}  // namespace
}  // namespace paceline::worker

int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  paceline::rpc::TuneAllocator();
  paceline::worker::Options options;
  CLI::App app("Computes gradients of a training job; as evaluator, evaluates published versions.",
               "paceline-worker");
  app.add_option("--job", options.job_file, "Resolved TrainingJob, JSON")->required();
  app.add_option("--folder", options.folder, "Where the job's relative paths start");
  app.add_option("--coordinator", options.connections.coordinator, "Address of the coordinator")
      ->required();
  app.add_option_function<double>(
         "--connect-timeout-seconds",
         [&options](double seconds) {
           options.connections.connect_timeout = paceline::Seconds(seconds);
         },
         "How long to wait for the coordinator (default 300)")
      ->check(CLI::Range(0.001, 86400.0));
  app.add_option("--tls-folder", options.tls_folder,
                 "Folder of tls.crt, tls.key and ca.crt; without it, connections are plain");
  app.add_option("--role", options.role, "worker or evaluator")
      ->check(CLI::IsMember({"worker", "evaluator"}));
  app.add_option("--group", options.group, "The worker's group, in a job that has groups");
  app.add_option("--index", options.index, "The worker's index in its group, or in its job");
  app.add_option("--push-log", options.push_log,
                 "Folder that gets worker-INDEX.pushes, what was in each push (for experiments)");
  app.add_option("--device", options.device,
                 "cpu; cuda: a GPU, or the process ends and says why there is none; "
                 "cuda-if-usable: the CPU "
                 "then")
      ->check(CLI::IsMember({"cpu", "cuda", "cuda-if-usable"}));
  app.add_option("--attempt", options.attempt,
                 "How often a process of this index was started before, as who starts it counts");
  app.add_option("--termination-message", options.termination_message,
                 "File that gets why the process failed");
  app.add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  paceline::telemetry::ConfigureLog(
      {.program = "paceline-worker",
       .format = *paceline::telemetry::ParseLogFormat(options.log_format)});
  paceline::process::BlockTerminationSignals();
  paceline::process::EndProcess(paceline::worker::Run(options), "paceline-worker",
                                options.termination_message);
}
