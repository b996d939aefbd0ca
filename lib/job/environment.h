// Defines AsEnvironment: how a program that is not ours is told what a worker's flags say.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::job {

using Environment = std::vector<std::pair<std::string, std::string>>;

// The variable that stands for a flag, given without its dashes: PACELINE_TLS_FOLDER for
// "tls-folder".
std::string VariableOf(std::string_view flag);

// Of "--flag" and "value" in turn: the flag's variable and the value, as lib/worker/process reads
// them.
Environment AsEnvironment(const std::vector<std::string>& arguments);

}  // namespace paceline::job
