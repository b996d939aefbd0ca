#include "ps-server/run_lock.h"

#include <fmt/format.h>

#include "lib/files/disk.h"
#include "lib/store/checkpoints/checkpoint_folder.h"
#include "lib/telemetry/log.h"
#include "ps-server/checkpoints.h"

namespace paceline::ps {
namespace {

std::string LockOf(const std::string& run_folder) {
  return fmt::format("{}/{}", run_folder, store::kRunLockName);
}

StatusOr<files::FolderLock> Take(const std::string& run_folder, const job::TrainingJob& job) {
  PACELINE_RETURN_IF_ERROR(files::MakeFolders(run_folder));
  return files::FolderLock::Take(
      LockOf(run_folder),
      fmt::format("{} ({}/{})", RunOf(job), job.metadata.name_space, job.metadata.name));
}

}  // namespace

files::FolderLock MarkAsLive(const Options& options, const job::TrainingJob& job) {
  const std::string name = RunFolder(job, options.resume);
  if (options.checkpoint.empty() || name.empty()) return {};
  const std::string folder =
      fmt::format("{}/{}", options.checkpoint, name.substr(0, name.size() - 1));
  StatusOr<files::FolderLock> lock = Take(folder, job);
  std::string trouble;
  if (lock.status().code() == StatusCode::kFailedPrecondition) {
    trouble = "an earlier process of this job has it: " + Message(lock.status());
  } else if (!lock.ok()) {
    trouble = Message(lock.status());
  } else if (!lock->is_held()) {
    trouble = "its disk knows no locks";
  }
  if (!trouble.empty()) {
    telemetry::Log(telemetry::LogLevel::kWarning,
                   "jobs that go on from these checkpoints cannot tell that this one trains",
                   {{"folder", folder}, {"why", trouble}});
  }
  return lock.ok() ? *std::move(lock) : files::FolderLock();
}

std::string WhoLivesIn(const std::string& run_folder) {
  return files::FolderLock::OwnerOf(LockOf(run_folder));
}

}  // namespace paceline::ps
