#include "ps-server/processes/coordinator_files.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/files/atomic_file.h"
#include "lib/files/disk.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/log.h"
#include "ps-server/run_lock.h"

namespace paceline::ps {
namespace {

namespace fs = std::filesystem;
using telemetry::Log;
using telemetry::LogLevel;

// The trace's folder, with the job that advise and calibrate want of it. On one machine it is the
// run's, where all of this is there already.
Status MakeTraceFolder(const std::string& trace, const job::TrainingJob& job) {
  const fs::path folder = fs::path(trace).parent_path();
  if (folder.empty()) return OkStatus();
  PACELINE_RETURN_IF_ERROR(files::MakeFolders(folder));
  const fs::path beside = folder / "job.json";
  std::error_code ignored;
  if (fs::exists(beside, ignored)) return OkStatus();
  return files::WriteFile(beside, job::ToJson(job).dump(2) + "\n");
}

std::unique_ptr<telemetry::TraceSegments> OpenTrace(const Options& options,
                                                    const job::TrainingJob& job) {
  const int64_t bytes_max = job.spec.observability.trace.max_bytes.value_or(job::kTraceBytes);
  if (options.trace.empty() || bytes_max == 0) return nullptr;
  if (const Status made = MakeTraceFolder(options.trace, job); !made.ok())
    Log(LogLevel::kWarning, "no job beside the trace", {{"reason", Message(made)}});
  auto opened = telemetry::TraceSegments::Open(options.trace, static_cast<uint64_t>(bytes_max));
  if (opened.ok()) return *std::move(opened);
  Log(LogLevel::kWarning, "no trace", {{"reason", Message(opened.status())}});
  return nullptr;
}

// One that serves its model has to have what opens it: found out now, not when all is trained.
Status CheckToken(const Options& options) {
  if (!options.serves_model) return OkStatus();
  return Annotate(telemetry::AccessToken(options.token_file).Read().status(),
                  "--serve-model needs --token-file");
}

// What this coordinator goes on from, said aloud.
StatusOr<FoundCheckpoints> LookForCheckpoints(const Options& options, const job::TrainingJob& job) {
  if (job::HasCheckpoints(job.spec) && options.checkpoint.empty())
    return InvalidArgument("spec.checkpoint needs a folder: --checkpoint is missing");
  if (options.checkpoint.empty()) return FoundCheckpoints{};
  PACELINE_ASSIGN_OR_RETURN(FoundCheckpoints found,
                            FindCheckpoints(options.checkpoint, job,
                                            CheckpointOptionsFrom(options, job), options.resume));
  for (const std::string& problem : found.problems)
    Log(LogLevel::kError, "checkpoint is no good", {{"reason", problem}});
  if (!found.note.empty())
    Log(LogLevel::kWarning, "checkpoints were found", {{"what", found.note}});
  return found;
}

}  // namespace

StatusOr<CoordinatorFiles> OpenCoordinatorFiles(const Options& options,
                                                const job::TrainingJob& job) {
  CoordinatorFiles files;
  files.trace = OpenTrace(options, job);
  if (!options.commit_log.empty()) {
    PACELINE_ASSIGN_OR_RETURN(files.commit_log, CommitLog::Open(options.commit_log));
  }
  PACELINE_RETURN_IF_ERROR(CheckToken(options));
  PACELINE_ASSIGN_OR_RETURN(files.model, TakeModel(options, job));
  PACELINE_ASSIGN_OR_RETURN(files.checkpoints, LookForCheckpoints(options, job));
  files.run = MarkAsLive(options, job);
  return files;
}

}  // namespace paceline::ps
