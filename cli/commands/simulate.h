// paceline simulate and paceline calibrate: have paceline-simulator, which lies beside this
// program, play a scenario, or make one from a run.
#pragma once

#include <string>

namespace paceline::commands {

struct SimulateOptions {
  std::string scenario;
  std::string output = "text";  // Or "json", "csv".
  std::string traces;           // A folder for policy traces; empty: none are written.
};

// Becomes that program, whose exit code is the command's; returns only if it cannot be started,
// with a line and 1.
int Simulate(const SimulateOptions& options);
// The same, of a run's folder or its policy trace.
int Calibrate(const std::string& recording);

}  // namespace paceline::commands
