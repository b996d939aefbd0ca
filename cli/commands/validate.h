// paceline validate: checks a manifest.
#pragma once

#include <string>
#include <vector>

namespace paceline::commands {

struct ValidateOptions {
  std::string manifest;
  std::vector<std::string> overrides;
};

// The exit code: 0 if the manifest is good, 2 if not; every error is on stderr.
int Validate(const ValidateOptions& options);

}  // namespace paceline::commands
