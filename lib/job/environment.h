// Defines AsEnvironment: how a program that is not ours is told what a worker's flags say.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace paceline::job {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Of "--flag" and "value" in turn: PACELINE_FLAG and value, as lib/worker/process reads them
// (--tls-folder: PACELINE_TLS_FOLDER).
Environment AsEnvironment(const std::vector<std::string>& arguments);

}  // namespace paceline::job
