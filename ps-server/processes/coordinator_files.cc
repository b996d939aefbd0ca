#include "ps-server/processes/coordinator_files.h"

#include <string>
#include <utility>

#include "lib/job/state/checkpoint_place.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/log.h"
#include "ps-server/run_lock.h"

namespace paceline::ps {
namespace {

using telemetry::Log;
using telemetry::LogLevel;

std::unique_ptr<telemetry::TraceSegments> OpenTrace(const std::string& path, int64_t bytes_max) {
  if (path.empty() || bytes_max == 0) return nullptr;
  auto opened = telemetry::TraceSegments::Open(path, static_cast<uint64_t>(bytes_max));
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
  files.trace = OpenTrace(options.trace, job.spec.observability.trace.max_bytes);
  if (!options.commit_log.empty()) {
    PACELINE_ASSIGN_OR_RETURN(files.commit_log, CommitLog::Open(options.commit_log));
  }
  PACELINE_RETURN_IF_ERROR(CheckToken(options));
  PACELINE_ASSIGN_OR_RETURN(files.checkpoints, LookForCheckpoints(options, job));
  files.run = MarkAsLive(options, job);
  return files;
}

}  // namespace paceline::ps
