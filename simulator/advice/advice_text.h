// Defines what is said of advice: to people, and as JSON to programs.
#pragma once

#include <string>

#include "simulator/advice/advice.h"

namespace paceline::simulator {

// What was simulated, the arms as a table, the best one's lines of a manifest, and what is not
// known.
std::string AdviceText(const Report& report);
// An object on one line, with the same figures.
std::string AdviceJson(const Report& report);

// Lines to paste into a manifest, from "spec:" on.
std::string ManifestLines(const std::vector<std::string>& lines);

}  // namespace paceline::simulator
