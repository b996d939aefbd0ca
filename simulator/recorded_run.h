// Defines RecordedRun: what the folder of a run holds for the simulator.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::simulator {

struct RecordedRun {
  std::string source;    // The trace's file.
  std::string trace;     // Its text, of all segments that are there (lib/files/segments.h).
  std::string job_json;  // The run's job; empty where there is none.
  // Where relative paths of the job start; empty where the run does not say.
  std::string manifest_folder;
  bool is_on_one_machine = false;  // A paceline run made it, whose processes all share one.
};

// `path` is the folder of a `paceline run`, or a policy trace, which says nothing of the job.
// NotFound or PermissionDenied, naming the file, if there is no trace that can be read.
StatusOr<RecordedRun> ReadRecordedRun(const std::string& path);

}  // namespace paceline::simulator
