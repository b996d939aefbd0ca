// Defines Child: one process that this one started, its output in a log file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/status.h"

namespace paceline::local {

struct Command {
  std::vector<std::string> arguments;  // The program's path first, or its name in PATH.
  std::vector<std::pair<std::string, std::string>>
      environment;       // Beside what this process has; wins.
  std::string log_path;  // stdout and stderr are appended here.
  int niceness = 0;      // Added to this process's own; at least 0.
  // That it starts in, where a relative program is looked for; empty: as this.
  std::string folder = "";
  // Of a program that is not ours: where it leaves no last word, the last line of its output is it.
  bool may_leave_none = false;
  // Descriptors that it inherits, under the same numbers: locks that it holds as long as it lives.
  std::vector<int> kept_open = {};
};

// How a process ended.
struct Exit {
  int code = 0;    // As given to exit; 0 if a signal ended it.
  int signal = 0;  // 0 if it exited by itself.
};

// Owns the process: what still runs when this goes away is killed and reaped. Not thread-safe. The
// child dies with the thread that started it, so that not even a killed parent leaves it behind.
class Child {
 public:
  // Internal, with the system's words, if the program cannot be started.
  static StatusOr<Child> Start(const Command& command);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  // Never blocks. How it ended, once it has; the same answer from then on.
  std::optional<Exit> Poll();
  void Signal(int number);  // Nothing if it has ended.

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  void KillAndReap();

  pid_t pid_ = -1;
  std::optional<Exit> exit_;
};

}  // namespace paceline::local
