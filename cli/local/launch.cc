#include "cli/local/launch.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "lib/job/environment.h"

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
                         folder.Address(start.index),
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
  Arguments arguments = {"--job",         folder.JobFile(),
                         "--role",        start.role == job::Role::kWorker ? "worker" : "evaluator",
                         "--index",       std::to_string(start.index),
                         "--attempt",     std::to_string(start.attempt),
                         "--folder",      options.manifest_folder,
                         "--coordinator", coordinator};
  if (!start.group.empty()) Append(arguments, {"--group", start.group});
  return arguments;
}

// With its extras, but for the environment that these name.
void LayWorker(const LaunchOptions& options, const ProcessExtras& extras, Arguments arguments,
               Command& command) {
  Append(arguments, {"--device", extras.device});
  if (options.command.empty()) {
    command.arguments = {options.programs_folder + "/paceline-worker"};
    Append(command.arguments, arguments);
  } else {
    command.arguments = options.command;
    command.folder = options.command_folder;
    command.may_leave_none = true;
    command.environment = job::AsEnvironment(arguments);
    for (auto& variable : job::ForScripts(options.seed)) {
      if (std::getenv(variable.first.c_str()) == nullptr)
        command.environment.push_back(std::move(variable));
    }
  }
  Append(command.arguments, extras.arguments);
  // Workers of one machine share its cores, and give way to the parameter server: while it has
  // work, most of them wait for it.
  command.environment.emplace_back("OMP_NUM_THREADS", "1");
  command.niceness = kWorkerNiceness;
}

}  // namespace

Command LaunchCommand(const LaunchOptions& options, const JobFolder& folder,
                      const job::Start& start) {
  const std::string coordinator = folder.Address(0);
  const std::string group = job::IdOf(start.role, start.index, start.group).group;
  const auto found = options.extras.find(group);
  const ProcessExtras extras = found == options.extras.end() ? ProcessExtras() : found->second;
  const Arguments last_word = {"--termination-message", folder.LastWordFile(start.name)};
  Command command{.arguments = {}, .environment = {}, .log_path = folder.LogFile(start.name)};
  command.mark = fmt::format("{}/{}/{}/", folder.private_folder().path, start.name, start.attempt);
  if (start.role == job::Role::kParameterServer) {
    command.arguments = ServerArguments(options, folder, start, coordinator);
    command.kept_open = options.locks;
    Append(command.arguments, last_word);
    Append(command.arguments, extras.arguments);
  } else {
    Arguments arguments = WorkerArguments(options, folder, start, coordinator);
    Append(arguments, last_word);
    LayWorker(options, extras, std::move(arguments), command);
  }
  for (const auto& variable : extras.environment) {
    std::erase_if(command.environment,
                  [&](const auto& own) { return own.first == variable.first; });
    command.environment.push_back(variable);
  }
  return command;
}

}  // namespace paceline::local
