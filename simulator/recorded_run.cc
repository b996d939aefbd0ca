#include "simulator/recorded_run.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "lib/files/segments.h"
#include "lib/process/read_file.h"

namespace paceline::simulator {

namespace {

// Nobody from another machine reaches a coordinator there.
constexpr std::string_view kLoopback = "http://127.0.0.1:";

}  // namespace

StatusOr<RecordedRun> ReadRecordedRun(const std::string& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  RecordedRun run{.source = is_folder ? path + "/policy.trace" : path};
  StatusOr<std::string> trace = files::ReadSegments(run.source);
  if (!trace.ok()) {
    return NotFound("{}; want the folder of a paceline run with its policy.trace, or such a trace",
                    Message(trace.status()));
  }
  run.trace = *std::move(trace);
  if (!is_folder) return run;
  StatusOr<std::string> job = process::ReadFile(path + "/job.json");
  if (job.ok()) run.job_json = *std::move(job);
  const StatusOr<std::string> url = process::ReadFile(path + "/coordinator.url");
  run.is_on_one_machine = url.ok() && url->starts_with(kLoopback);
  const StatusOr<std::string> folder = process::ReadFile(path + "/manifest.folder");
  if (folder.ok()) run.manifest_folder = folder->substr(0, folder->find('\n'));
  return run;
}

}  // namespace paceline::simulator
