#include "cli/commands/run.h"

#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/local_run.h"
#include "cli/commands/manifest.h"
#include "cli/local/display/progress_view.h"
#include "cli/local/display/summary.h"
#include "cli/local/signals.h"
#include "lib/base/printable.h"
#include "lib/process/exit.h"

namespace paceline::commands {

int Run(const RunOptions& options) {
  const std::optional<job::TrainingJob> job = ReadManifest(options.manifest, options.overrides);
  if (!job) return process::kExitCannotWork;
  const std::optional<LocalRun> run =
      LocalRun::Prepare({.manifest = options.manifest,
                         .runs_folder = options.runs_folder,
                         .folder_name = job->metadata.name,
                         .volumes = options.volumes,
                         .http_port = options.http_port,
                         .resume = options.resume,
                         .health_patience = options.health_patience},
                        *job);
  if (!run) return process::kExitCannotWork;
  local::Signals signals;
  // Progress goes to stderr, so that stdout holds the summary alone.
  local::ProgressView view(stderr, isatty(STDERR_FILENO) == 1);
  const local::Outcome outcome = run->Run(signals, view);
  const local::RunSummary summary{.job = job->metadata.name,
                                  .is_success = outcome.is_success,
                                  .reason = outcome.reason,
                                  .restarts = outcome.restarts,
                                  .recovery = outcome.recovery,
                                  .state = outcome.state,
                                  .model_path = run->ModelOf(outcome),
                                  .folder = run->folder().path()};
  fmt::print("{}", options.output == "json" ? local::SummaryJson(summary)
                                            : Printable(local::SummaryText(summary)));
  std::fflush(stdout);
  if (outcome.is_interrupted) return kExitInterrupted;
  return outcome.is_success ? process::kExitDone : process::kExitFailed;
}

}  // namespace paceline::commands
