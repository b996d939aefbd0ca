// Tells whoever started a process which port its HTTP endpoint took.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::ps {

// Writes `port` to `path`, whole or not at all; an empty path asks for nothing.
Status WriteHttpPort(const std::string& path, int port);

}  // namespace paceline::ps
