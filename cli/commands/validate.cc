#include "cli/commands/validate.h"

#include <fmt/format.h>

#include "cli/commands/manifest.h"
#include "cli/local/display/print.h"
#include "cli/local/local_job.h"
#include "cli/local/volumes.h"
#include "lib/job/crd/verdict.h"
#include "lib/job/manifest/load.h"
#include "lib/job/policy_spec.h"
#include "lib/job/state/device.h"
#include "lib/process/exit.h"

namespace paceline::commands {
namespace {

// What the CustomResourceDefinition says. It knows nothing of what this program cannot do.
bool IsAcceptedByApiServer(const std::string& text, const std::vector<std::string>& overrides) {
  return job::ApiServerErrors(job::LoadJob(text, overrides, job::Capabilities::All())).empty();
}

// Valid is what a cluster takes; of that, one machine may be unable to run some.
int TellValid(const std::string& manifest, const job::TrainingJob& job) {
  local::VolumeFolders volumes = local::VolumeFolders::Parse({}, "paceline-volumes").value();
  const local::LocalJob here = local::AdaptJob(job, "paceline-runs", volumes);
  local::Print(stdout, "{}: TrainingJob {} is valid, {}\n", manifest, job.metadata.name,
               here.errors.empty() ? "here and for the API server"
                                   : "for the API server; paceline run refuses it:");
  for (const job::FieldError& error : here.errors)
    local::Print(stdout, "{}: {}\n", manifest, job::ToString(error));
  for (const std::string& caution : job::CautionsOf(job))
    local::Print(stdout, "{}: caution: {}\n", manifest, caution);
  for (const std::string& note : job::DeviceNotes(job.spec))
    local::Print(stdout, "{}: note: {}\n", manifest, note);
  return process::kExitDone;
}

}  // namespace

int Validate(const ValidateOptions& options) {
  const StatusOr<std::string> text = ReadManifestText(options.manifest);
  if (!text.ok()) {
    local::Print(stderr, "paceline: {}\n", Message(text.status()));
    return process::kExitCannotWork;
  }
  const job::Decoded loaded = job::LoadJob(*text, options.overrides, job::Capabilities());
  if (loaded.errors.empty()) return TellValid(options.manifest, loaded.job);
  PrintErrors(options.manifest, loaded.errors);
  local::Print(stderr, "paceline: the API server would {} it\n",
               IsAcceptedByApiServer(*text, options.overrides) ? "accept" : "refuse");
  return process::kExitCannotWork;
}

}  // namespace paceline::commands
