// Defines Command: another program that a bench starts and watches.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace paceline::bench {

// One owner at a time. The program gets SIGKILL when its Command goes, or the bench.
class Command {
 public:
  // `arguments` begin with the program, searched in PATH; `environment` is added to the bench's
  // own. Its output goes to `output`.out and `output`.err.
  Command(const std::vector<std::string>& arguments,
          const std::vector<std::pair<std::string, std::string>>& environment,
          const std::string& output);
  ~Command();
  Command(const Command&) = delete;

  pid_t pid() const { return pid_; }
  // Its exit code, 128 + number where a signal ended it; nothing as long as it runs.
  std::optional<int> Ended();

 private:
  pid_t pid_;
  std::optional<int> code_;
};

}  // namespace paceline::bench
