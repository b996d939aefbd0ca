#include "cli/commands/simulate.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/programs_folder.h"
#include "lib/process/exit.h"

namespace paceline::commands {

int Simulate(const SimulateOptions& options) {
  const std::string program = ProgramsFolder() + "/paceline-simulator";
  std::vector<std::string> words = {program, options.scenario, "-o", options.output};
  if (!options.traces.empty()) {
    words.emplace_back("--traces");
    words.push_back(options.traces);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  fmt::print(stderr, "paceline: {} cannot be started: {}\n", program, std::strerror(errno));
  return process::kExitFailed;
}

}  // namespace paceline::commands
