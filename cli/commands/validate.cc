#include "cli/commands/validate.h"

#include <fmt/format.h>

#include "cli/commands/manifest.h"
#include "lib/job/crd/verdict.h"
#include "lib/job/load.h"
#include "lib/process/exit.h"

namespace paceline::commands {
namespace {

// What the CustomResourceDefinition says. It knows nothing of what this program cannot do.
bool IsAcceptedByApiServer(const std::string& text, const std::vector<std::string>& overrides) {
  return job::ApiServerErrors(job::LoadJob(text, overrides, job::Capabilities::All())).empty();
}

}  // namespace

int Validate(const ValidateOptions& options) {
  const StatusOr<std::string> text = ReadManifestText(options.manifest);
  if (!text.ok()) {
    fmt::print(stderr, "paceline: {}\n", Message(text.status()));
    return process::kExitCannotWork;
  }
  const job::Decoded loaded = job::LoadJob(*text, options.overrides, job::Capabilities());
  if (loaded.errors.empty()) {
    fmt::print("{}: TrainingJob {} is valid, here and for the API server\n", options.manifest,
               loaded.job.metadata.name);
    return process::kExitDone;
  }
  PrintErrors(options.manifest, loaded.errors);
  fmt::print(stderr, "paceline: the API server would {} it\n",
             IsAcceptedByApiServer(*text, options.overrides) ? "accept" : "refuse");
  return process::kExitCannotWork;
}

}  // namespace paceline::commands
