// paceline simulate, calibrate, advise and replay: have paceline-simulator, which lies beside this
// program, play a scenario, make one from a run, try other schemes for it, or decide once more on
// its events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::commands {

struct SimulateOptions {
  std::string scenario;
  std::string output = "text";  // Or "json", "csv".
  std::string traces;           // A folder for policy traces; empty: none are written.
  std::string timelines;        // Likewise, for what workers did when.
  std::string plot;             // A file for an SVG; empty: nothing is drawn.
};

// Becomes that program, whose exit code is the command's; returns only if it cannot be started,
// with a line and 1.
int Simulate(const SimulateOptions& options);
// The same, of a run's folder or its policy trace.
int Calibrate(const std::string& recording);

struct AdviseOptions {
  std::string recording;        // A run's folder or its policy trace.
  int64_t seeds = 9;            // Lives of each scheme and rate.
  bool is_quick = false;        // Without trials on the job's own model.
  double model_seconds = 120;   // For these, about.
  std::string folder;           // Where the job's relative paths start; empty: as the run says.
  std::string output = "text";  // Or "json".
};
int Advise(const AdviseOptions& options);

struct ReplayOptions {
  std::string recording;          // A run's folder or its policy trace.
  std::vector<std::string> with;  // PATH=VALUE of the job's spec; empty: as it was.
};
int Replay(const ReplayOptions& options);

}  // namespace paceline::commands
