// Defines JobFolder: where one local run keeps its files.
//
// - paceline-runs/<job>-<time>-<pid>: job.json, manifest.folder, logs/<process>.log, policy.trace,
// summary.json,
//   model.safetensors, checkpoints/ (until success) unless the job says where they go;
// - a private folder: sockets, port files and the token that opens the coordinator's control calls,
//   gone after the run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/local/janitor.h"
#include "cli/local/private_folder.h"
#include "lib/base/status.h"

namespace paceline::local {

// In a run's folder: where its coordinator answers, "http://127.0.0.1:8080" and a newline.
inline constexpr const char* kUrlFileName = "coordinator.url";
// In the same: where what changes the job is told, "http://127.0.0.1:8081", and in the next line
// the path of the token that opens it, which lies in the private folder.
inline constexpr const char* kControlFileName = "coordinator.control";

// Whether the process that made that run's folder is still there.
bool IsRunning(const std::string& run_folder);

// Removes the private folder when it goes away; the other stays.
class JobFolder {
 public:
  // An absolute path of a folder that there is not yet.
  static std::string NewPath(const std::string& parent, const std::string& job);
  // Makes both with a new token, and what is missing above `path`, and starts a Janitor for the
  // private one. Unavailable or Internal with the system's words if that cannot be done.
  static StatusOr<JobFolder> Create(const std::string& path);
  JobFolder(JobFolder&& other) noexcept;
  JobFolder& operator=(JobFolder&&) = delete;
  ~JobFolder();

  const std::string& path() const { return path_; }
  std::string JobFile() const { return path_ + "/job.json"; }
  // Where relative paths of the job start: an absolute path and a newline.
  std::string ManifestFolderFile() const { return path_ + "/manifest.folder"; }
  std::string LogFile(const std::string& process) const {
    return path_ + "/logs/" + process + ".log";
  }
  std::string LastWordFile(const std::string& process) const {
    return LogFile(process) + ".last-word";
  }
  std::string TraceFile() const { return path_ + "/policy.trace"; }
  std::string SummaryFile() const { return path_ + "/summary.json"; }
  std::string UrlFile() const { return path_ + "/" + kUrlFileName; }
  std::string ControlFile() const { return path_ + "/" + kControlFileName; }
  std::string ModelFile() const { return path_ + "/model.safetensors"; }
  // Where a shard listens. The job's name, which may be long, is not in it.
  std::string Address(int64_t rank) const {
    return fmt::format("unix:{}/ps-{}.sock", private_.path, rank);
  }
  std::string PortFile(const std::string& process) const {
    return private_.path + "/" + process + ".port";
  }
  std::string ApiPortFile() const { return private_.path + "/api.port"; }
  std::string TokenFile() const { return private_.path + "/token"; }
  const PrivateFolder& private_folder() const { return private_; }

 private:
  JobFolder(std::string path, PrivateFolder made, Janitor janitor, int lock)
      : path_(std::move(path)),
        private_(std::move(made)),
        janitor_(std::move(janitor)),
        lock_(lock) {}

  std::string path_;
  PrivateFolder private_;
  Janitor janitor_;
  int lock_;  // On `path_`, for as long as the run goes on; -1 where the disk knows no locks.
};

}  // namespace paceline::local
