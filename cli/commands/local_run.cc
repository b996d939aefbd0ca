#include "cli/commands/local_run.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands/manifest.h"
#include "cli/commands/programs_folder.h"
#include "cli/local/checkpoint_place.h"
#include "cli/local/display/print.h"
#include "cli/local/resume.h"
#include "cli/local/volumes.h"
#include "lib/base/json_text.h"
#include "lib/files/atomic_file.h"
#include "lib/job/manifest/encode.h"

namespace paceline::commands {
namespace {

namespace fs = std::filesystem;

std::string FolderOf(const std::string& manifest) {
  if (manifest == "-") return fs::current_path().string();
  return fs::absolute(manifest).parent_path().string();
}

// By which a run knows that another one was of the same.
std::string ManifestPath(const std::string& manifest) {
  return manifest == "-" ? "-" : fs::absolute(manifest).lexically_normal().string();
}

// Where a command of the workers' own starts.
std::string CommandFolder(const LocalRunOptions& options, const job::TrainingJob& job) {
  const std::string within = job.spec.workers.working_dir.value_or("");
  return (fs::path(FolderOf(options.manifest)) / within).lexically_normal().string();
}

Status CheckCommand(const LocalRunOptions& options, const job::TrainingJob& job) {
  std::error_code error;
  const std::string folder = CommandFolder(options, job);
  if (job.spec.workers.command.empty() || fs::is_directory(folder, error)) return OkStatus();
  return InvalidArgument("spec.workers.workingDir: there is no folder {}", folder);
}

Status WriteJob(const local::JobFolder& folder, const job::TrainingJob& job,
                const std::string& manifest) {
  PACELINE_RETURN_IF_ERROR(
      files::WriteFile(folder.ManifestFolderFile(), FolderOf(manifest) + "\n"));
  return files::WriteFile(folder.JobFile(), JsonText(job::ToJson(job), 2) + "\n");
}

std::nullopt_t Refuse(const Status& status) {
  local::Print(stderr, "paceline: {}\n", Message(status));
  return std::nullopt;
}

// Prints why if the job cannot be run on this machine.
std::optional<local::LocalJob> Adapt(const LocalRunOptions& options, const job::TrainingJob& job,
                                     const std::string& run_folder) {
  StatusOr<local::VolumeFolders> volumes =
      local::VolumeFolders::Parse(options.volumes, "paceline-volumes");
  if (!volumes.ok()) return Refuse(volumes.status());
  local::LocalJob local = local::AdaptJob(job, run_folder, *volumes);
  if (!local.errors.empty()) {
    PrintErrors(options.manifest, local.errors);
    return std::nullopt;
  }
  Status status = volumes->CheckAllUsed();
  if (status.ok()) status = CheckCommand(options, local.job);
  if (status.ok()) status = local::PrepareFolders(local);
  if (!status.ok()) return Refuse(status);
  if (!local.ignored.empty()) {
    local::Print(stderr, "paceline: without meaning on one machine, ignored: {}\n",
                 fmt::join(local.ignored, ", "));
  }
  for (const std::string& text : local.notes) local::Print(stderr, "paceline: {}\n", text);
  return local;
}

}  // namespace

std::vector<int> LocalRun::Locks::Descriptors() const {
  std::vector<int> descriptors;
  for (const files::FolderLock* lock : {&checkpoints, &output}) {
    if (lock->is_held()) descriptors.push_back(lock->descriptor());
  }
  return descriptors;
}

// Those outside of the run's own folder: others may write there at the same time.
Status LocalRun::TakeFolders(LocalRunOptions& options, const job::TrainingJob& job,
                             const std::string& run, local::LocalJob& local, Locks& locks) {
  const std::string owner = fmt::format("run {}, process {}", run, getpid());
  const auto note_no_locks = [](const std::string& folder, const char* what) {
    local::Print(stderr,
                 "paceline: {}: this disk knows no locks, and nothing keeps another run {}\n",
                 folder, what);
  };
  if (local.output_folder) {
    const std::string lock = *local.output_folder + "/.model.safetensors.lock";
    StatusOr<files::FolderLock> taken = files::FolderLock::Take(lock, owner);
    if (taken.status().code() == StatusCode::kFailedPrecondition) {
      return FailedPrecondition(
          "spec.output.volume: another run will write {}/model.safetensors: {}. Name another "
          "volume "
          "(--volume CLAIM=DIR), or wait for its end",
          *local.output_folder, Message(taken.status()));
    }
    PACELINE_RETURN_IF_ERROR(taken.status());
    locks.output = *std::move(taken);
    if (!locks.output.is_held())
      note_no_locks(*local.output_folder, "from writing its model there");
  }
  if (!local.checkpoint_folder || local.has_default_checkpoints) return OkStatus();
  PACELINE_ASSIGN_OR_RETURN(local::CheckpointPlace place,
                            local::TakeCheckpointPlace({.volume = *local.checkpoint_folder,
                                                        .run = fs::path(run).filename(),
                                                        .manifest = ManifestPath(options.manifest),
                                                        .job = job,
                                                        .resume = options.resume,
                                                        .owner = owner}));
  if (!place.note.empty()) local::Print(stderr, "paceline: {}\n", place.note);
  if (!place.lock.is_held())
    note_no_locks(place.folder, "from going on from this one's checkpoints");
  local.checkpoint_folder = place.folder;
  options.resume = place.goes_on ? "always" : "auto";
  locks.checkpoints = std::move(place.lock);
  return OkStatus();
}

std::optional<LocalRun> LocalRun::Prepare(const LocalRunOptions& options,
                                          const job::TrainingJob& job) {
  const std::string path = local::JobFolder::NewPath(options.runs_folder, options.folder_name);
  std::optional<local::LocalJob> local = Adapt(options, job, path);
  if (!local) return std::nullopt;
  if (options.resume != "auto" && !local->checkpoint_folder) {
    return Refuse(InvalidArgument("--{} needs checkpoints: spec.checkpoint.enabled is false",
                                  options.resume == "always" ? "resume" : "fresh"));
  }
  const StatusOr<std::string> earlier =
      local->has_default_checkpoints ? local::FindResumable(options.runs_folder, job.metadata.name)
                                     : StatusOr<std::string>(NotFound("not looked for"));
  if (local->has_default_checkpoints && options.resume == "always" && !earlier.ok())
    return Refuse(earlier.status());
  if (earlier.ok() && options.resume == "auto")
    local::Print(stderr, "paceline: begins anew; --resume goes on from {}\n", *earlier);
  LocalRunOptions of_run = options;
  Locks locks;
  if (const Status status = TakeFolders(of_run, job, path, *local, locks); !status.ok())
    return Refuse(status);
  // By which its processes, started again, know their own checkpoints from another run's.
  if (!local->job.metadata.uid) local->job.metadata.uid = fs::path(path).filename();
  StatusOr<local::JobFolder> folder = local::JobFolder::Create(path);
  if (!folder.ok()) return Refuse(folder.status());
  if (const local::PrivateFolder& made = folder->private_folder(); !made.passed.empty())
    local::Print(stderr, "paceline: {}: sockets of this run lie in {}\n", made.passed, made.path);
  if (earlier.ok() && options.resume == "always") {
    if (const Status taken = local::TakeOverCheckpoints(*earlier, path); !taken.ok())
      return Refuse(taken);
  }
  if (const Status status = WriteJob(*folder, local->job, options.manifest); !status.ok())
    return Refuse(status);
  return LocalRun(std::move(of_run), *std::move(local), *std::move(folder), std::move(locks));
}

LocalRun::LocalRun(LocalRunOptions options, local::LocalJob job, local::JobFolder folder,
                   Locks locks)
    : options_(std::move(options)),
      job_(std::move(job)),
      folder_(std::move(folder)),
      locks_(std::move(locks)),
      model_path_(job_.output_folder ? *job_.output_folder + "/model.safetensors"
                                     : folder_.ModelFile()) {}

local::Outcome LocalRun::Run(local::Signals& signals, local::ProgressView& view) const {
  view.Note("logs and state of this run: " + folder_.path());
  local::Supervisor supervisor({.job = job_.job,
                                .launch = {.programs_folder = ProgramsFolder(),
                                           .manifest_folder = FolderOf(options_.manifest),
                                           .model_path = model_path_,
                                           .checkpoint_folder = job_.checkpoint_folder.value_or(""),
                                           .has_default_checkpoints = job_.has_default_checkpoints,
                                           .resume = options_.resume,
                                           .http_port = options_.http_port,
                                           .extras = job_.extras,
                                           .command = job_.job.spec.workers.command,
                                           .command_folder = CommandFolder(options_, job_.job),
                                           .seed = job_.job.spec.training.seed,
                                           .locks = locks_.Descriptors()},
                                .on_state = options_.on_state,
                                .health_patience = options_.health_patience},
                               &folder_, &signals, &view);
  local::Outcome outcome = supervisor.Run();
  view.Clear();
  return outcome;
}

std::string LocalRun::ModelOf(const local::Outcome& outcome) const {
  // The output's folder may hold an earlier run's model; a job that failed may have written its
  // own.
  const bool is_written = outcome.state && outcome.state->finishing &&
                          outcome.state->finishing->model_version.has_value();
  std::error_code ignored;
  return (outcome.is_success || is_written) && fs::exists(model_path_, ignored) ? model_path_ : "";
}

}  // namespace paceline::commands
