// Defines AsEnvironment and ForScripts: the environment of a program that is not ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::job {

using Environment = std::vector<std::pair<std::string, std::string>>;

// The variable that stands for a flag, given without its dashes: PACELINE_TLS_FOLDER for
// "tls-folder".
std::string VariableOf(std::string_view flag);

// What a worker's flags say. Of "--flag" and "value" in turn: the flag's variable and the value, as
// lib/worker/process reads them.
Environment AsEnvironment(const std::vector<std::string>& arguments);

// For Python, where nobody has said otherwise: what a script prints is seen at once, and sets of
// texts have one order in all processes of a job with that `training.seed`, and when it runs again.
Environment ForScripts(int64_t seed);

}  // namespace paceline::job
