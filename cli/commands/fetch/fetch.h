// paceline fetch: gets the model of a job that is over.
#pragma once

#include <string>

#include "cli/commands/cluster_job.h"
#include "cli/commands/fetch/download.h"
#include "cli/commands/fetch/model_url.h"

namespace paceline::commands {

// How the coordinator of a cluster's job is reached. kAuto: through the API server's proxy, and
// where that does not work, by kubectl port-forward.
enum class Via { kAuto, kProxy, kPortForward };

struct FetchOptions {
  std::string job;  // Empty: a run of this machine.
  ClusterOptions cluster;
  Via via = Via::kAuto;
  ModelUrl url;     // Empty: `via` says how.
  std::string run;  // A run's folder; empty: the newest of runs_folder.
  std::string runs_folder = "paceline-runs";
  std::string to;  // A file, or a folder that is there; empty: JOB.safetensors here.

  // Others only in tests, which do not wait.
  DownloadOptions download = {};
  Duration port_forward_patience = Seconds(30);
};

// The model of a cluster's job without an output volume comes from the pod that serves it
// (docs/adr/0030), by a way that it says (docs/adr/0092), is compared with the digest in the job's
// status, and is there under its name then, not before; the job is told, and lets the pod go. Job,
// digest and token come from the API server, whichever way the model comes. A download that was cut
// off goes on where it was. Where it lies on a volume, says where. Of a run of this machine, says
// where it lies, and with `to` copies it.
//
// The exit code: 0 the model is there, 1 it is not (yet, any more, or could not be got), 2 no such
// job, or permission is missing, or another file is in its place, which is left as it is.
int Fetch(const FetchOptions& options);

}  // namespace paceline::commands
