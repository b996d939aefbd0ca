// Defines LiveText: a running job as `paceline top` shows it, a line of progress and a table of
// workers.
#pragma once

#include <string>

#include "cli/local/display/live_state.h"

namespace paceline::local {

// Lines, each ended. Workers by index; the columns are as wide as what is in them.
std::string LiveText(const LiveState& state);

}  // namespace paceline::local
