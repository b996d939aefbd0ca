// Reads a manifest for a command and says on stderr all that is wrong with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::commands {

// Of a command that Ctrl-C or SIGTERM ended.
inline constexpr int kExitInterrupted = 130;

// `path` may be "-" for standard input.
StatusOr<std::string> ReadManifestText(const std::string& path);

// Nothing if the manifest is no good; then every error has
// been printed.
std::optional<job::TrainingJob> ReadManifest(const std::string& path,
                                             const std::vector<std::string>& overrides);

// One line an error on stderr, then how many there are.
void PrintErrors(const std::string& path, const std::vector<job::FieldError>& errors);

}  // namespace paceline::commands
