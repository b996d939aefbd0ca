// Defines LocalRun: one run of a job on this machine, from its folder to its outcome.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/local/display/progress_view.h"
#include "cli/local/job_folder.h"
#include "cli/local/local_job.h"
#include "cli/local/signals.h"
#include "cli/local/supervisor.h"
#include "lib/files/folder_lock.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::commands {

struct LocalRunOptions {
  std::string manifest;              // Its path, for messages; relative paths start in its folder.
  std::string runs_folder;           // The run gets a folder of its own there...
  std::string folder_name;           // ...that begins with this.
  std::vector<std::string> volumes;  // CLAIM=DIR each.
  int http_port = 0;
  std::string resume = "auto";                                      // Or "always", "never".
  std::function<void(const local::LiveState&)> on_state = nullptr;  // Each time it is asked for.
  Duration health_patience = local::SupervisorOptions().health_patience;
};

class LocalRun {
 public:
  // Adapts the job to this machine and makes the run's folder, with job.json in it. `job` is valid.
  // Nothing, and all that is wrong is on stderr, if that cannot be done.
  static std::optional<LocalRun> Prepare(const LocalRunOptions& options,
                                         const job::TrainingJob& job);

  const local::JobFolder& folder() const { return folder_; }
  // Blocks until no process of the job is left.
  local::Outcome Run(local::Signals& signals, local::ProgressView& view) const;
  // Where the final model is, after a success; empty if there is none.
  std::string ModelOf(const local::Outcome& outcome) const;

 private:
  // What other runs on this machine are told of this one, and keep away from.
  struct Locks {
    files::FolderLock checkpoints;
    files::FolderLock output;

    Locks() = default;
    Locks(Locks&&) = default;
    Locks& operator=(Locks&&) = delete;
    // No process of the run is left: nothing of it stays beside the model.
    ~Locks() { output.RemoveFile(); }
    std::vector<int> Descriptors() const;
  };

  static Status TakeFolders(LocalRunOptions& options, const job::TrainingJob& job,
                            const std::string& run, local::LocalJob& local, Locks& locks);

  LocalRun(LocalRunOptions options, local::LocalJob job, local::JobFolder folder, Locks locks);

  LocalRunOptions options_;
  local::LocalJob job_;
  local::JobFolder folder_;
  Locks locks_;
  std::string model_path_;
};

}  // namespace paceline::commands
