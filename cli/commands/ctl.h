// paceline ctl: changes a running job.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/cluster_job.h"

namespace paceline::commands {

struct CtlSetOptions {
  // JOB, if the job is a cluster's, then PATH=VALUE each. Paths begin with spec, which may be left
  // out.
  std::vector<std::string> arguments;
  ClusterOptions cluster;
  std::string run;  // A run's folder; empty: the newest of runs_folder.
  std::string runs_folder = "paceline-runs";
};

// On this machine the coordinator takes the changed job over, then the run's job.json holds it, so
// that whatever is started from now on is told the same, and `paceline run` starts or stops
// workers.
//
// Of a cluster's job the TrainingJob is patched, never its coordinator: the operator tells that
// one.
//
// The exit code: 0 taken over, 1 the coordinator or the cluster does not answer, 2 it is refused;
// nothing has changed then.
int CtlSet(const CtlSetOptions& options);

}  // namespace paceline::commands
