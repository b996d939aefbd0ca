// paceline top: watches a running job.
#pragma once

#include <string>

#include "cli/commands/cluster_job.h"

namespace paceline::commands {

struct TopOptions {
  std::string job;  // Of a cluster; empty: of this machine.
  ClusterOptions cluster;

  std::string run;  // A run's folder; empty: the newest of runs_folder.
  std::string runs_folder = "paceline-runs";
  std::string url;         // Of a coordinator, instead of a run.
  std::string tls_folder;  // For https.

  bool is_once = false;  // Print one look and end.
};

// Until the job is over. A cluster's job is shown by its status while no coordinator can be asked:
// it waits for its pods, is suspended, is over. The exit code: 0 it is over, or one look was asked
// for and there was something to see; 1 the coordinator, or the cluster, does not answer; 2 bad
// options, no such job, or no permission.
int Top(const TopOptions& options);

}  // namespace paceline::commands
