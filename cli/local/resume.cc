#include "cli/local/resume.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "cli/local/job_folder.h"
#include "lib/files/disk.h"

namespace paceline::local {
namespace {

namespace fs = std::filesystem;

// "digits" of JobFolder's "digits-20260102-030405-77"; empty if it is no such name.
std::string JobOf(std::string_view name) {
  for (int part = 0; part < 3; ++part) {
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || dash + 1 == name.size()) return "";
    if (name.find_first_not_of("0123456789", dash + 1) != std::string_view::npos) return "";
    name = name.substr(0, dash);
  }
  return std::string(name);
}

// Of the newest complete checkpoint; nothing without one.
std::optional<fs::file_time_type> NewestIn(const fs::path& checkpoints) {
  std::optional<fs::file_time_type> newest;
  std::error_code error;
  for (fs::directory_iterator at(checkpoints, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code is_incomplete;
    const auto written = fs::last_write_time(at->path() / "manifest.json", is_incomplete);
    if (!is_incomplete && (!newest || written > *newest)) newest = written;
  }
  return newest;
}

}  // namespace

std::string DefaultCheckpointFolder(const std::string& run_folder) {
  return run_folder + "/checkpoints";
}

StatusOr<std::string> FindResumable(const std::string& runs, const std::string& job) {
  std::optional<fs::path> found;
  fs::file_time_type found_time;
  std::error_code error;
  for (fs::directory_iterator at(runs, error), end; !error && at != end; at.increment(error)) {
    if (JobOf(at->path().filename().string()) != job) continue;
    const auto newest = NewestIn(DefaultCheckpointFolder(at->path().string()));
    if (!newest || (found && *newest <= found_time)) continue;
    found = at->path();
    found_time = *newest;
  }
  if (!found) {
    return NotFound("no run of {} under {} has a complete checkpoint to go on from", job,
                    fs::absolute(runs).lexically_normal().string());
  }
  if (IsRunning(found->string()))
    return FailedPrecondition("its newest checkpoint is of a run that goes on: {}",
                              found->string());
  return found->string();
}

Status TakeOverCheckpoints(const std::string& from, const std::string& run_folder) {
  files::Disk& disk = files::SystemDisk();
  PACELINE_RETURN_IF_ERROR(
      disk.Rename(DefaultCheckpointFolder(from), DefaultCheckpointFolder(run_folder)));
  PACELINE_RETURN_IF_ERROR(files::FlushFolder(run_folder));
  return files::FlushFolder(from);
}

}  // namespace paceline::local
