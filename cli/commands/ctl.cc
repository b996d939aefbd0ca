#include "cli/commands/ctl.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/coordinator_api.h"
#include "cli/commands/job_patch.h"
#include "cli/commands/manifest.h"
#include "cli/local/display/print.h"
#include "lib/base/json_text.h"
#include "lib/files/atomic_file.h"
#include "lib/job/checks/change.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/plan/plan.h"
#include "lib/kube/core/patch.h"
#include "lib/process/exit.h"

namespace paceline::commands {
namespace {

int Fail(const Status& status) {
  local::Print(stderr, "paceline: {}\n", Message(status));
  // A refused change is the command line's fault.
  if (status.code() == StatusCode::kFailedPrecondition) return process::kExitCannotWork;
  return process::ExitCodeFor(status);
}

int Done(const std::vector<std::string>& overrides) {
  for (const std::string& one : overrides) local::Print(stdout, "taken over: {}\n", one);
  return process::kExitDone;
}

int SetOfRun(const CtlSetOptions& options, const std::vector<std::string>& overrides) {
  const StatusOr<std::string> run =
      options.run.empty() ? NewestRun(options.runs_folder) : StatusOr<std::string>(options.run);
  if (!run.ok()) return Fail(run.status());
  const StatusOr<CoordinatorApi> coordinator = CoordinatorApi::ControlOfRun(*run);
  if (!coordinator.ok()) return Fail(coordinator.status());
  const std::string job_file = *run + "/job.json";
  const std::optional<job::TrainingJob> before = ReadManifest(job_file, {});
  const std::optional<job::TrainingJob> job = ReadManifest(job_file, overrides);
  if (!before || !job) return process::kExitCannotWork;
  if (const auto errors = job::ValidateChange(*before, *job); !errors.empty()) {
    PrintErrors(*run, errors);
    return process::kExitCannotWork;
  }
  const std::string text = JsonText(job::ToJson(*job), 2);
  Status status = coordinator->Put("/v1/job/spec", text);
  if (status.ok()) status = files::WriteFile(job_file, text + "\n");
  return status.ok() ? Done(overrides) : Fail(status);
}

int SetOfCluster(const ClusterOptions& options, const std::string& name,
                 const std::vector<std::string>& overrides) {
  const StatusOr<ClusterJob> cluster = ClusterJob::Open(options, name);
  if (!cluster.ok()) return Fail(cluster.status());
  const StatusOr<kube::Json> object = cluster->Read();
  if (!object.ok()) return Fail(object.status());
  const job::JobStatus status = job::FromJson(*object).job.status;
  if (job::IsFinished(status)) {
    return Fail(FailedPrecondition("{} is over ({}): there is nothing left to change",
                                   kube::ToString(cluster->key()), status.state));
  }
  const JobPatch made = MakeJobPatch(*object, overrides);
  if (!made.errors.empty()) {
    PrintErrors(kube::ToString(cluster->key()), made.errors);
    return process::kExitCannotWork;
  }
  if (kube::IsEmptyPatch(made.patch)) {
    local::Print(stdout, "{}: is so already\n", kube::ToString(cluster->key()));
    return process::kExitDone;
  }
  const Status patched = cluster->Patch(made.patch);
  return patched.ok() ? Done(overrides) : Fail(patched);
}

}  // namespace

int CtlSet(const CtlSetOptions& options) {
  std::vector<std::string> overrides = options.arguments;
  std::string job;
  if (!overrides.empty() && overrides.front().find('=') == std::string::npos) {
    job = overrides.front();
    overrides.erase(overrides.begin());
  }
  for (std::string& override : overrides) override = BelowSpec(override);
  if (overrides.empty()) return Fail(InvalidArgument("nothing to set: want PATH=VALUE"));
  if (!job.empty() && !options.run.empty())
    return Fail(InvalidArgument("{} is of a cluster, --run of this machine: want one", job));
  if (!job.empty()) return SetOfCluster(options.cluster, job, overrides);
  if (options.cluster.is_empty()) return SetOfRun(options, overrides);
  return Fail(InvalidArgument("which job of the cluster: want JOB before PATH=VALUE"));
}

}  // namespace paceline::commands
