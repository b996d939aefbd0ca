// Defines MakePrograms: our programs as a soak starts them, by way of its links and with its logs.
#pragma once

#include <string>

#include <sys/types.h>

namespace paceline::soak {

struct ProgramOptions {
  std::string real;      // Folder of the programs.
  std::string folder;    // Gets theirs.
  std::string links;     // Folder of Links.
  std::string evidence;  // Folder of push logs and of the commit log.
};

// Writes a `paceline`, and a `paceline-ps` and `paceline-worker` beside it that it starts instead
// of the real ones: they become these, with the same pid.
void MakePrograms(const ProgramOptions& options);

// Which process of a job that pid is: "worker-2", "ps-0", "evaluator"; empty if none.
std::string ProcessName(pid_t pid);

}  // namespace paceline::soak
