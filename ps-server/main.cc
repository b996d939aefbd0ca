#include <CLI/CLI.hpp>

#include "lib/base/limits.h"
#include "lib/job/manifest/encode.h"
#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "lib/process/file_size.h"
#include "lib/process/guard/thread_guard.h"
#include "lib/process/read_file.h"
#include "lib/process/system_limits.h"
#include "lib/process/termination.h"
#include "lib/rpc/bulk/allocator.h"
#include "lib/telemetry/log.h"
#include "ps-server/processes/processes.h"

namespace paceline::ps {
namespace {

StatusOr<job::TrainingJob> ReadJob(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text,
                            process::ReadFile(path, limits::kStoredJobBytesMax));
  job::Decoded decoded = job::FromJsonText(text, job::UnknownFields::kIgnore);
  if (!decoded.errors.empty())
    return InvalidArgument("{}: {}", path, job::ToString(decoded.errors.front()));
  for (const std::string& field : decoded.ignored)
    telemetry::Log(telemetry::LogLevel::kWarning, "field of a later version ignored",
                   {{"field", field}});
  return std::move(decoded.job);
}

Status Run(const Options& options) {
  PACELINE_RETURN_IF_ERROR(process::CheckDescriptorLimit());
  PACELINE_ASSIGN_OR_RETURN(const job::TrainingJob job, ReadJob(options.job_file));
  return options.rank == 0 ? RunCoordinator(options, job) : RunShard(options, job);
}

}  // namespace
}  // namespace paceline::ps

// What nobody catches ends in ReportCrashes, with its stack.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  paceline::process::RaiseDescriptorLimit();
  paceline::process::RefuseLargeFiles();
  paceline::rpc::TuneAllocator();
  paceline::ps::Options options;
  std::string log_format = "text";
  std::string resume = "auto";
  CLI::App app("Holds parameters of a training job; rank 0 decides whose gradients count.",
               "paceline-ps");
  app.add_option("--job", options.job_file, "Resolved TrainingJob, JSON")->required();
  app.add_option("--rank", options.rank, "Index of this shard; 0 is the coordinator too");
  app.add_option("--listen", options.listen, "unix:/path or host:port for workers and shards")
      ->required();
  app.add_option("--advertise", options.advertise,
                 "Address under which others reach this process; without it, that of --listen");
  app.add_option("--coordinator", options.coordinator, "Address of rank 0 (ranks above 0)");
  app.add_option_function<double>(
         "--connect-timeout-seconds",
         [&options](double seconds) { options.connect_timeout = paceline::Seconds(seconds); },
         "How long to wait for rank 0 (default 300)")
      ->check(CLI::Range(0.001, 86400.0));
  app.add_option("--tls-folder", options.tls_folder,
                 "Folder of tls.crt, tls.key and ca.crt; without it, connections are plain");
  app.add_option(
      "--token-file", options.token_file,
      "File of the token that opens the model that is served, and the API where there is "
      "no TLS (rank 0)");
  app.add_option("--api-host", options.api_host,
                 "Host of what changes the job: over HTTPS with TLS, else by the token (rank 0)");
  app.add_option("--api-port", options.api_port, "Port of the same; 0 takes a free one");
  app.add_option("--api-port-file", options.api_port_file, "File that gets the port number");
  app.add_option("--http-host", options.http_host,
                 "Host of /metrics, /healthz, /readyz and, read-only, progress");
  app.add_option("--http-port", options.http_port, "Port of the same; 0 takes a free one");
  app.add_option("--http-port-file", options.http_port_file, "File that gets the port number");
  app.add_flag("--wait-for-processes", options.waits_for_processes,
               "Do not give up on shards and workers that do not come (rank 0)");
  app.add_option("--generation-start", options.generation_start,
                 "Given by who created this coordinator");
  app.add_option_function<double>(
         "--hang-floor-seconds",
         [&options](double seconds) { options.hang_floor = paceline::Seconds(seconds); },
         "No step hangs that is shorter (rank 0, default 30)")
      ->check(CLI::Range(0.001, 86400.0));
  app.add_option("--checkpoint", options.checkpoint,
                 "Folder of checkpoints: of the volume that all shards share, or of this shard's");
  app.add_flag(
      "--default-checkpoints", options.has_default_checkpoints,
      "Nobody asked for them: so seldom that they should cost less than 1 % of training, none that "
      "leaves less than 10 % of the disk free, and gone after success");
  app.add_option_function<double>(
         "--default-checkpoint-seconds",
         [&options](double seconds) {
           options.default_checkpoint_period = paceline::Seconds(seconds);
         },
         "Those are so far apart, whatever they cost (rank 0)")
      ->check(CLI::Range(0.001, 86400.0));
  app.add_option("--resume", resume,
                 "auto, always, never, own or from-claim: whether to go on from another run's "
                 "checkpoints (rank 0); the last two leave those where they are")
      ->check(CLI::IsMember({"auto", "always", "never", "own", "from-claim"}));
  app.add_option("--output", options.output, "Path of the final model (rank 0)");
  app.add_option_function<double>(
         "--lock-output",
         [&options](double seconds) { options.lock_output = paceline::Seconds(seconds); },
         "End where another job that lives will write the same model, after so many seconds of "
         "waiting for its end (rank 0)")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_flag("--serve-model", options.serves_model,
               "When the model is written, stay until it was fetched, or SIGTERM (rank 0)");
  app.add_option("--summary", options.summary, "File that gets the job's last state (rank 0)");
  app.add_option("--final-state", options.final_state,
                 "File that gets the job's last state in short, as a last word (rank 0)");
  app.add_option("--trace", options.trace, "File that gets the policy's trace (rank 0)");
  app.add_option("--commit-log", options.commit_log,
                 "File that gets which pushes made up each version (rank 0; for experiments)");
  app.add_option("--termination-message", options.termination_message,
                 "File that gets why the process failed");
  app.add_option("--log-format", log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? paceline::process::kExitDone : paceline::process::kExitCannotWork;
  }
  if (resume == "always") options.resume = paceline::ps::ResumeWish::kAlways;
  if (resume == "never") options.resume = paceline::ps::ResumeWish::kNever;
  if (resume == "own") options.resume = paceline::ps::ResumeWish::kOwn;
  if (resume == "from-claim") options.resume = paceline::ps::ResumeWish::kFromClaim;
  paceline::telemetry::ConfigureLog(
      {.program = "paceline-ps", .format = *paceline::telemetry::ParseLogFormat(log_format)});
  paceline::process::SayWhichLimit(options.termination_message);
  paceline::process::EndWhereNoThreadStarts();
  paceline::process::BlockTerminationSignals();
  paceline::process::EndProcess(paceline::ps::Run(options), "paceline-ps",
                                options.termination_message);
}
