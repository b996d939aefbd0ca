#include "cli/commands/run.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands/manifest.h"
#include "cli/local/job_folder.h"
#include "cli/local/local_job.h"
#include "cli/local/progress_view.h"
#include "cli/local/signals.h"
#include "cli/local/summary.h"
#include "cli/local/supervisor.h"
#include "cli/local/volumes.h"
#include "lib/job/encode.h"
#include "lib/process/exit.h"

namespace paceline::commands {
namespace {

namespace fs = std::filesystem;

constexpr int kExitInterrupted = 130;

std::string ProgramsFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

std::string FolderOf(const std::string& manifest) {
  if (manifest == "-") return fs::current_path().string();
  return fs::absolute(manifest).parent_path().string();
}

Status WriteJob(const std::string& path, const job::TrainingJob& job) {
  std::ofstream file(path);
  file << job::ToJson(job).dump(2) << '\n';
  if (!file.flush()) return ResourceExhausted("cannot write {}", path);
  return OkStatus();
}

std::string ResumeFlag(const RunOptions& options) {
  return options.resume == "always" ? "resume" : "fresh";
}

int Refuse(const Status& status) {
  fmt::print(stderr, "paceline: {}\n", Message(status));
  return process::kExitCannotWork;
}

// Prints why if the job cannot be run on this machine.
std::optional<local::LocalJob> Adapt(const RunOptions& options, const job::TrainingJob& job,
                                     const std::string& run_folder) {
  StatusOr<local::VolumeFolders> volumes =
      local::VolumeFolders::Parse(options.volumes, "paceline-volumes");
  if (!volumes.ok()) {
    Refuse(volumes.status());
    return std::nullopt;
  }
  local::LocalJob local = local::AdaptJob(job, run_folder + "/volumes", *volumes);
  if (!local.errors.empty()) {
    PrintErrors(options.manifest, local.errors);
    return std::nullopt;
  }
  Status status = volumes->CheckAllUsed();
  if (status.ok()) status = local::PrepareFolders(local);
  if (!status.ok()) {
    Refuse(status);
    return std::nullopt;
  }
  if (!local.ignored.empty()) {
    fmt::print(stderr, "paceline: without meaning on one machine, ignored: {}\n",
               fmt::join(local.ignored, ", "));
  }
  return local;
}

}  // namespace

int Run(const RunOptions& options) {
  const std::optional<job::TrainingJob> job = ReadManifest(options.manifest, options.overrides);
  if (!job) return process::kExitCannotWork;
  const std::string path = local::JobFolder::NewPath(options.runs_folder, job->metadata.name);
  std::optional<local::LocalJob> local = Adapt(options, *job, path);
  if (!local) return process::kExitCannotWork;
  if (options.resume != "auto" && !local->checkpoint_folder)
    return Refuse(InvalidArgument("--{} needs spec.checkpoint", ResumeFlag(options)));
  // By which its processes, started again, know their own checkpoints from another run's.
  if (!local->job.metadata.uid) local->job.metadata.uid = fs::path(path).filename();
  const StatusOr<local::JobFolder> folder = local::JobFolder::Create(path);
  if (!folder.ok()) return Refuse(folder.status());
  if (const Status status = WriteJob(folder->JobFile(), local->job); !status.ok())
    return Refuse(status);
  const std::string model =
      local->output_folder ? *local->output_folder + "/model.safetensors" : folder->ModelFile();

  local::Signals signals;
  // Progress goes to stderr, so that stdout holds the summary alone.
  local::ProgressView view(stderr, isatty(STDERR_FILENO) == 1);
  view.Note("logs and state of this run: " + folder->path());
  local::Supervisor supervisor(
      {.job = local->job,
       .launch = {.job_name = job->metadata.name,
                  .programs_folder = ProgramsFolder(),
                  .manifest_folder = FolderOf(options.manifest),
                  .model_path = model,
                  .checkpoint_folder = local->checkpoint_folder.value_or(""),
                  .resume = options.resume,
                  .http_port = options.http_port,
                  .extras = local->extras}},
      &*folder, &signals, &view);
  const local::Outcome outcome = supervisor.Run();
  view.Clear();

  std::error_code ignored;
  // The output's folder may hold an earlier run's model.
  const bool has_model = outcome.is_success && fs::exists(model, ignored);
  const local::RunSummary summary{.job = job->metadata.name,
                                  .is_success = outcome.is_success,
                                  .reason = outcome.reason,
                                  .restarts = outcome.restarts,
                                  .state = outcome.state,
                                  .model_path = has_model ? model : "",
                                  .folder = folder->path()};
  fmt::print("{}",
             options.output == "json" ? local::SummaryJson(summary) : local::SummaryText(summary));
  std::fflush(stdout);
  if (outcome.is_interrupted) return kExitInterrupted;
  return outcome.is_success ? process::kExitDone : process::kExitFailed;
}

}  // namespace paceline::commands
