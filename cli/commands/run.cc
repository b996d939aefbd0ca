#include "cli/commands/run.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands/manifest.h"
#include "cli/local/job_folder.h"
#include "cli/local/progress_view.h"
#include "cli/local/signals.h"
#include "cli/local/summary.h"
#include "cli/local/supervisor.h"
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

int Refuse(const Status& status) {
  fmt::print(stderr, "paceline: {}\n", Message(status));
  return process::kExitCannotWork;
}

}  // namespace

int Run(const RunOptions& options) {
  const std::optional<job::TrainingJob> job = ReadManifest(options.manifest, options.overrides);
  if (!job) return process::kExitCannotWork;
  const StatusOr<local::JobFolder> folder =
      local::JobFolder::Create(options.runs_folder, job->metadata.name);
  if (!folder.ok()) return Refuse(folder.status());
  if (const Status status = WriteJob(folder->JobFile(), *job); !status.ok()) return Refuse(status);

  local::Signals signals;
  // Progress goes to stderr, so that stdout holds the summary alone.
  local::ProgressView view(stderr, isatty(STDERR_FILENO) == 1);
  local::Supervisor supervisor({.job = *job,
                                .programs_folder = ProgramsFolder(),
                                .manifest_folder = FolderOf(options.manifest),
                                .model_path = folder->ModelFile(),
                                .http_port = options.http_port},
                               &*folder, &signals, &view);
  const local::Outcome outcome = supervisor.Run();
  view.Clear();

  std::error_code ignored;
  const local::RunSummary summary{
      .job = job->metadata.name,
      .is_success = outcome.is_success,
      .reason = outcome.reason,
      .state = outcome.state,
      .model_path = fs::exists(folder->ModelFile(), ignored) ? folder->ModelFile() : "",
      .folder = folder->path()};
  fmt::print("{}",
             options.output == "json" ? local::SummaryJson(summary) : local::SummaryText(summary));
  std::fflush(stdout);
  if (outcome.is_interrupted) return kExitInterrupted;
  return outcome.is_success ? process::kExitDone : process::kExitFailed;
}

}  // namespace paceline::commands
