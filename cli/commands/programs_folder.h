// Defines ProgramsFolder: where this program lies, and paceline-ps, paceline-worker and
// paceline-simulator beside it.
#pragma once

#include <string>

namespace paceline::commands {

std::string ProgramsFolder();

}  // namespace paceline::commands
