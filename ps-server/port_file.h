// Tells whoever started a process which port an HTTP endpoint of it took.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::ps {

// Writes `port` to `path`, whole or not at all; an empty path asks for nothing.
Status WritePort(const std::string& path, int port);

}  // namespace paceline::ps
