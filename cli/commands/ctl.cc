#include "cli/commands/ctl.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/coordinator_api.h"
#include "cli/commands/manifest.h"
#include "lib/job/encode.h"
#include "lib/process/exit.h"

namespace paceline::commands {
namespace {

Status Replace(const std::string& path, const std::string& text) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << text << '\n';
  if (!file.flush()) return ResourceExhausted("cannot write {}", partial);
  std::error_code error;
  std::filesystem::rename(partial, path, error);
  if (error) return Unavailable("cannot write {}: {}", path, error.message());
  return OkStatus();
}

int Fail(const Status& status) {
  fmt::print(stderr, "paceline: {}\n", Message(status));
  // A refused change is the command line's fault.
  if (status.code() == StatusCode::kFailedPrecondition) return process::kExitCannotWork;
  return process::ExitCodeFor(status);
}

}  // namespace

int CtlSet(const CtlSetOptions& options) {
  const StatusOr<std::string> run =
      options.run.empty() ? NewestRun(options.runs_folder) : StatusOr<std::string>(options.run);
  if (!run.ok()) return Fail(run.status());
  const StatusOr<CoordinatorApi> coordinator = CoordinatorApi::OfRun(*run);
  if (!coordinator.ok()) return Fail(coordinator.status());
  const std::string job_file = *run + "/job.json";
  const std::optional<job::TrainingJob> job = ReadManifest(job_file, options.overrides);
  if (!job) return process::kExitCannotWork;
  const std::string text = job::ToJson(*job).dump(2);
  Status status = coordinator->Put("/v1/job/spec", text);
  if (status.ok()) status = Replace(job_file, text);
  if (!status.ok()) return Fail(status);
  for (const std::string& one : options.overrides) fmt::print("taken over: {}\n", one);
  return process::kExitDone;
}

}  // namespace paceline::commands
