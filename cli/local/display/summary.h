// Defines RunSummary: what a run came to, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/local/display/live_state.h"
#include "lib/job/state/status.h"

namespace paceline::local {

struct RunSummary {
  std::string job;
  bool is_success = false;
  std::string reason;                           // Why it ended.
  int64_t restarts = 0;                         // Of processes.
  std::optional<job::RecoveryStatus> recovery;  // Absent if training never went back.
  std::optional<LiveState> state;  // The coordinator's last word; absent if it never gave one.
  std::string model_path;          // Empty if no model was written.
  std::string folder;              // Logs, trace and model.
};

// Several lines, ending in a line end.
std::string SummaryText(const RunSummary& summary);

// One object on one line: succeeded, accuracy, loss, steps, epochs, seconds, samplesPerSecond,
// rollBacks, lostSteps and lostSeconds (done and void), overflows, workers (each name, group,
// index, device, threads, steps, samples, computeShare, waitShare, communicationShare), model. What
// is not known is null.
std::string SummaryJson(const RunSummary& summary);

}  // namespace paceline::local
