#include "cli/local/launch.h"

namespace paceline::local {
namespace {

constexpr int kWorkerNiceness = 5;

using Arguments = std::vector<std::string>;

void Append(Arguments& to, const Arguments& more) { to.insert(to.end(), more.begin(), more.end()); }

Arguments ServerArguments(const LaunchOptions& options, const JobFolder& folder,
                          const job::Start& start, const std::string& coordinator) {
  Arguments arguments = {options.programs_folder + "/paceline-ps",
                         "--job",
                         folder.JobFile(),
                         "--rank",
                         std::to_string(start.index),
                         "--listen",
                         folder.Address(start.name),
                         "--http-port-file",
                         folder.PortFile(start.name)};
  if (!options.checkpoint_folder.empty())
    Append(arguments, {"--checkpoint", options.checkpoint_folder});
  if (options.has_default_checkpoints) Append(arguments, {"--default-checkpoints"});
  if (start.index > 0) {
    Append(arguments, {"--coordinator", coordinator});
  } else {
    if (!options.checkpoint_folder.empty()) Append(arguments, {"--resume", options.resume});
    Append(arguments,
           {"--http-port", std::to_string(options.http_port), "--generation-start",
            std::to_string(start.generation_start), "--output", options.model_path, "--summary",
            folder.SummaryFile(), "--trace", folder.TraceFile(), "--token-file", folder.TokenFile(),
            "--api-port-file", folder.ApiPortFile()});
  }
  return arguments;
}

Arguments WorkerArguments(const LaunchOptions& options, const JobFolder& folder,
                          const job::Start& start, const std::string& coordinator) {
  Arguments arguments = {options.programs_folder + "/paceline-worker",
                         "--job",
                         folder.JobFile(),
                         "--role",
                         start.role == job::Role::kWorker ? "worker" : "evaluator",
                         "--index",
                         std::to_string(start.index),
                         "--attempt",
                         std::to_string(start.attempt),
                         "--folder",
                         options.manifest_folder,
                         "--coordinator",
                         coordinator};
  if (!start.group.empty()) Append(arguments, {"--group", start.group});
  return arguments;
}

}  // namespace

Command LaunchCommand(const LaunchOptions& options, const JobFolder& folder,
                      const job::Start& start) {
  const std::string coordinator =
      folder.Address(job::ProcessName(options.job_name, job::Role::kParameterServer, 0));
  const bool is_server = start.role == job::Role::kParameterServer;
  Command command{.arguments = is_server ? ServerArguments(options, folder, start, coordinator)
                                         : WorkerArguments(options, folder, start, coordinator),
                  .environment = {},
                  .log_path = folder.LogFile(start.name)};
  Append(command.arguments, {"--termination-message", folder.LastWordFile(start.name)});
  if (!is_server) {
    // Workers of one machine share its cores, and give way to the parameter server: while it has
    // work, most of them wait for it.
    command.environment = {{"OMP_NUM_THREADS", "1"}};
    command.niceness = kWorkerNiceness;
  }
  const std::string group = job::IdOf(start.role, start.index, start.group).group;
  if (const auto extras = options.extras.find(group); extras != options.extras.end()) {
    for (const auto& variable : extras->second.environment) {
      std::erase_if(command.environment,
                    [&](const auto& own) { return own.first == variable.first; });
      command.environment.push_back(variable);
    }
    if (!is_server) Append(command.arguments, {"--device", extras->second.device});
    Append(command.arguments, extras->second.arguments);
  }
  return command;
}

}  // namespace paceline::local
