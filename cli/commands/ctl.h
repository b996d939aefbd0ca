// paceline ctl: changes a running job of this machine.
#pragma once

#include <string>
#include <vector>

namespace paceline::commands {

struct CtlSetOptions {
  std::string run;  // A run's folder; empty: the newest of runs_folder.
  std::string runs_folder = "paceline-runs";
  std::vector<std::string> overrides;  // PATH=VALUE each.
};

// The coordinator takes the changed job over, then the run's job.json holds it, so that whatever is
// started from now on is told the same, and `paceline run` starts or stops workers. The exit code:
// 0 taken over, 1 the coordinator does not answer, 2 it is refused; nothing has changed then.
int CtlSet(const CtlSetOptions& options);

}  // namespace paceline::commands
