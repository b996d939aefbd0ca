#include "ps-server/processes/coordinator_end.h"

#include "lib/files/atomic_file.h"
#include "lib/process/exit.h"
#include "lib/telemetry/log.h"
#include "ps-server/checkpoints.h"

namespace paceline::ps {

using telemetry::Log;
using telemetry::LogLevel;

void WriteSummary(const Options& options, const Progress& progress, const JobView& view,
                  const coordination::Finished& finished) {
  if (options.summary.empty()) return;
  const Status written =
      files::WriteFile(options.summary, ProgressJson(progress, view, finished) + "\n");
  if (!written.ok()) Log(LogLevel::kWarning, "no summary", {{"reason", Message(written)}});
}

void SayFinalState(const Options& options, const Progress& progress, const JobView& view,
                   const coordination::Finished& finished) {
  process::SayLastWord(options.final_state, FinalStateJson(progress, view, finished));
}

void CloseCheckpoints(const Options& options, const job::TrainingJob& job) {
  if (options.checkpoint.empty()) return;
  const Status ended = EndCheckpoints(options, job);
  if (!ended.ok()) Log(LogLevel::kWarning, "end not recorded", {{"reason", Message(ended)}});
}

void ServeUntilFetched(ServedModel& model) {
  const store::FileDigest digest = model.digest().value_or(store::FileDigest{});
  Log(LogLevel::kInfo, "serving the model", {{"bytes", digest.bytes}, {"sha256", digest.sha256}});
  model.Serve();
  Log(LogLevel::kInfo, "serving ends", {{"fetched", model.is_fetched() ? "true" : "false"}});
}

Status StatusOf(const coordination::Finished& finished) {
  if (finished.is_suspended) return Cancelled("{}", finished.reason);
  if (!finished.is_success) return Aborted("{}", finished.reason);
  return OkStatus();
}

}  // namespace paceline::ps
