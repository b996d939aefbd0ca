// paceline fetch: gets the model of a job that is over.
#pragma once

#include <string>

#include "cli/commands/cluster_job.h"

namespace paceline::commands {

struct FetchOptions {
  std::string job;  // Empty: a run of this machine.
  ClusterOptions cluster;
  std::string run;  // A run's folder; empty: the newest of runs_folder.
  std::string runs_folder = "paceline-runs";
  std::string to;  // A file, or a folder that is there; empty: JOB.safetensors here.
};

// Of a cluster's job without an output volume: comes through the API server's proxy from the pod
// that serves it (docs/adr/0030), is compared with the digest in the job's status, and is there
// under its name then, not before; the job is told, and lets the pod go. A download that was cut
// off goes on where it was. Where it lies on a volume, says where. Of a run of this machine, says
// where it lies, and with `to` copies it.
//
// The exit code: 0 the model is there, 1 it is not (yet, any more, or could not be got), 2 no such
// job, or permission is missing, or another file is in its place, which is left as it is.
int Fetch(const FetchOptions& options);

}  // namespace paceline::commands
