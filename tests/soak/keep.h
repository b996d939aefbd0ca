// Defines what is kept of a job that went wrong, for a look.
#pragma once

#include <string>
#include <vector>

#include "tests/integration/live_run.h"

namespace paceline::soak {

// What each of its processes is doing: FOLDER/processes.txt, with each thread's state, the function
// of the kernel that it waits in and, where that may be read, its stack there; FOLDER/state.json,
// what the coordinator says.
void KeepProcesses(const integration::LiveRun& run, const std::string& folder);

// Copies these folders' files into `to`, as far as they can be read: disks go with the process.
void KeepFiles(const std::vector<std::string>& folders, const std::string& to);

}  // namespace paceline::soak
