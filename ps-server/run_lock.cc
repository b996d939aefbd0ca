#include "ps-server/run_lock.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "lib/files/disk.h"
#include "lib/store/checkpoints/checkpoint_folder.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/log.h"
#include "ps-server/checkpoints.h"

namespace paceline::ps {
namespace {

constexpr std::chrono::milliseconds kLookPeriod(500);

std::string LockOf(const std::string& run_folder) {
  return fmt::format("{}/{}", run_folder, store::kRunLockName);
}

// Who this is to others, the same over all its restarts.
std::string OwnerOf(const job::TrainingJob& job) {
  return fmt::format("{} ({}/{})", RunOf(job), job.metadata.name_space, job.metadata.name);
}

StatusOr<files::FolderLock> Take(const std::string& run_folder, const job::TrainingJob& job) {
  PACELINE_RETURN_IF_ERROR(files::MakeFolders(run_folder));
  return files::FolderLock::Take(LockOf(run_folder), OwnerOf(job));
}

// As `paceline run` has it on one machine.
std::string LockOfModel(const std::string& model) {
  const std::filesystem::path path(model);
  return path.parent_path() / fmt::format(".{}.lock", path.filename().string());
}

bool IsTaken(const StatusOr<files::FolderLock>& lock) {
  return lock.status().code() == StatusCode::kFailedPrecondition;
}

// Empty if it is held.
std::string WhyNotHeld(const StatusOr<files::FolderLock>& lock) {
  if (IsTaken(lock)) return "an earlier process of this job has it: " + Message(lock.status());
  if (!lock.ok()) return Message(lock.status());
  return lock->is_held() ? "" : "the disk knows no locks";
}

}  // namespace

files::FolderLock MarkAsLive(const Options& options, const job::TrainingJob& job) {
  const std::string name = RunFolder(job, options.resume);
  if (options.checkpoint.empty() || name.empty()) return {};
  const std::string folder =
      fmt::format("{}/{}", options.checkpoint, name.substr(0, name.size() - 1));
  StatusOr<files::FolderLock> lock = Take(folder, job);
  if (const std::string why = WhyNotHeld(lock); !why.empty()) {
    telemetry::Log(telemetry::LogLevel::kWarning,
                   "jobs that go on from these checkpoints cannot tell that this one trains",
                   {{"folder", folder}, {"why", why}});
  }
  return lock.ok() ? *std::move(lock) : files::FolderLock();
}

StatusOr<files::FolderLock> TakeModel(const Options& options, const job::TrainingJob& job) {
  if (!options.lock_output) return files::FolderLock();
  const Time deadline = telemetry::SteadyNow() + *options.lock_output;
  const auto take = [&] {
    return files::FolderLock::Take(LockOfModel(options.output), OwnerOf(job));
  };
  const auto is_anothers = [&](const StatusOr<files::FolderLock>& lock) {
    return IsTaken(lock) && Message(lock.status()) != OwnerOf(job);
  };
  StatusOr<files::FolderLock> lock = take();
  if (is_anothers(lock)) {
    telemetry::Log(telemetry::LogLevel::kInfo, "waiting for the job that writes its model here",
                   {{"job", Message(lock.status())}});
  }
  while (is_anothers(lock) && telemetry::SteadyNow() < deadline) {
    std::this_thread::sleep_for(kLookPeriod);
    lock = take();
  }
  if (is_anothers(lock)) {
    return InvalidArgument(
        "spec.output.volume: job {} trains and will write the same model there: name another "
        "volume, or wait for its end",
        Message(lock.status()));
  }
  if (const std::string why = WhyNotHeld(lock); !why.empty()) {
    telemetry::Log(telemetry::LogLevel::kWarning,
                   "nothing keeps another job from writing its model here",
                   {{"model", options.output}, {"why", why}});
  }
  return lock.ok() ? *std::move(lock) : files::FolderLock();
}

std::string WhoLivesIn(const std::string& run_folder) {
  return files::FolderLock::OwnerOf(LockOf(run_folder));
}

}  // namespace paceline::ps
