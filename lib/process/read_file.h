// Defines ReadFile.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::process {

// The whole file. NotFound or PermissionDenied, naming the path, if it cannot be read;
// InvalidArgument for a folder.
StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace paceline::process
