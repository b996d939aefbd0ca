// Defines AdviseOf: paceline advise, from a run's folder to what is printed.
#pragma once

#include <cstdint>
#include <string>

namespace paceline::simulator {

struct AdvisingFlags {
  std::string recording;       // A run's folder, or its trace.
  uint32_t seeds = 9;          // Of each arm and rate that is tried.
  bool is_quick = false;       // The job's own model is left out.
  double model_seconds = 120;  // Of computing, for trials of that, about.
  std::string folder;          // Where the job's relative paths start; empty: as the run says.
  std::string output = "text";
};

// Prints what would have been faster, or why nothing can be said. The program's exit code.
int AdviseOf(const AdvisingFlags& flags);

}  // namespace paceline::simulator
