// paceline run: trains a job on this machine.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lib/base/time.h"

namespace paceline::commands {

struct RunOptions {
  std::string manifest;
  std::vector<std::string> overrides;
  std::string output = "text";  // Or "json".
  std::string runs_folder = "paceline-runs";
  Duration health_patience = std::chrono::seconds(30);  // Of a coordinator that does not answer.
  std::vector<std::string> volumes;                     // CLAIM=DIR each.
  int http_port = 0;
  std::string resume = "auto";  // Or "always", "never": from another run's checkpoints.
};

// The exit code: 0 done, 1 the job failed, 2 bad manifest or options, 130 interrupted. The other
// programs lie beside this one.
int Run(const RunOptions& options);

}  // namespace paceline::commands
