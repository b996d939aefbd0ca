#include "cli/commands/validate.h"

#include <fmt/format.h>

#include "cli/commands/manifest.h"
#include "lib/process/exit.h"

namespace paceline::commands {

int Validate(const ValidateOptions& options) {
  const std::optional<job::TrainingJob> job = ReadManifest(options.manifest, options.overrides);
  if (!job) return process::kExitCannotWork;
  fmt::print("{}: TrainingJob {} is valid\n", options.manifest, job->metadata.name);
  return process::kExitDone;
}

}  // namespace paceline::commands
