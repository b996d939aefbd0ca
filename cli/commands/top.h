// paceline top: watches a running job.
#pragma once

#include <string>

namespace paceline::commands {

struct TopOptions {
  std::string run;  // A run's folder; empty: the newest of runs_folder.
  std::string runs_folder = "paceline-runs";
  std::string url;         // Of a coordinator, instead of a run.
  std::string tls_folder;  // For https.
  bool is_once = false;    // Print one look and end.
};

// Until the job is over. The exit code: 0 it is over, or one look was asked for; 1 the coordinator
// does not answer; 2 bad options.
int Top(const TopOptions& options);

}  // namespace paceline::commands
