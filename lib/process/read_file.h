// Defines ReadFile.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/status.h"

namespace paceline::process {

// The whole file. NotFound or PermissionDenied, naming the path, if it cannot be read;
// InvalidArgument for a folder.
StatusOr<std::string> ReadFile(const std::string& path);

// InvalidArgument, having read no further, if the file is longer than `bytes_max`: a pipe or a
// device may have no end.
StatusOr<std::string> ReadFile(const std::string& path, size_t bytes_max);

}  // namespace paceline::process
