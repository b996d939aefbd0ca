#include "cli/commands/simulate.h"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/programs_folder.h"
#include "cli/local/display/print.h"
#include "lib/process/exit.h"

namespace paceline::commands {

namespace {

constexpr char kProgram[] = "paceline-simulator";

// Returns only if it cannot be started.
int Become(std::vector<std::string> words) {
  const std::string program = ProgramsFolder() + "/" + kProgram;
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  local::Print(stderr, "paceline: {} cannot be started: {}\n", program, std::strerror(errno));
  return process::kExitFailed;
}

}  // namespace

int Simulate(const SimulateOptions& options) {
  std::vector<std::string> words = {options.scenario, "-o", options.output};
  for (const auto& [flag, value] :
       {std::pair("--traces", options.traces), std::pair("--timelines", options.timelines),
        std::pair("--plot", options.plot)}) {
    if (value.empty()) continue;
    words.emplace_back(flag);
    words.push_back(value);
  }
  return Become(std::move(words));
}

int Calibrate(const std::string& recording) { return Become({"--calibrate", recording}); }

int Advise(const AdviseOptions& options) {
  std::vector<std::string> words = {"--advise", options.recording};
  const auto add = [&words](const char* flag, std::string value) {
    words.emplace_back(flag);
    words.push_back(std::move(value));
  };
  add("--seeds", fmt::format("{}", options.seeds));
  add("--model-seconds", fmt::format("{}", options.model_seconds));
  if (!options.folder.empty()) add("--folder", options.folder);
  add("-o", options.output);
  if (options.is_quick) words.emplace_back("--quick");
  return Become(std::move(words));
}

int Replay(const ReplayOptions& options) {
  std::vector<std::string> words = {"--replay", options.recording};
  for (const std::string& one : options.with) {
    words.emplace_back("--with");
    words.push_back(one);
  }
  return Become(std::move(words));
}

}  // namespace paceline::commands
