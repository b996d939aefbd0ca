// Defines Child: one program that this process started, with all that it starts in turn; its output
// in a log file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "lib/base/status.h"

namespace paceline::local {

struct Command {
  std::vector<std::string> arguments;  // The program's path first, or its name in PATH.
  std::vector<std::pair<std::string, std::string>>
      environment;             // Beside what this process has; wins.
  std::string log_path;        // stdout and stderr are appended here.
  uint64_t log_bytes_max = 0;  // Of the log and the one before it (RotateLog); 0: no bound.
  int niceness = 0;            // Added to this process's own; at least 0.
  // That it starts in, where a relative program is looked for; empty: as this.
  std::string folder = "";
  // Of a program that is not ours: where it leaves no last word, the last line of its output is it.
  bool may_leave_none = false;
  // Descriptors that it inherits, under the same numbers: locks that it holds as long as it lives.
  std::vector<int> kept_open = {};
  // By which all processes of it are known (lib/process/tree.h); empty: by their group alone.
  std::string mark = "";
};

// How a process ended.
struct Exit {
  int code = 0;    // As given to exit; 0 if a signal ended it.
  int signal = 0;  // 0 if it exited by itself.
};

// Owns the program and its tree: what still runs of it when this goes away is killed and reaped.
// Not thread-safe. The program's own process dies with the thread that started it, so that not even
// a killed parent leaves it behind; for what it started, see Janitor.
class Child {
 public:
  // Internal, with the system's words, if the program cannot be started.
  static StatusOr<Child> Start(const Command& command);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  // Never blocks. How the program's own process ended, once it has; the same answer from then on.
  // What it started may run on.
  std::optional<Exit> Poll();
  void Signal(int number);  // To the program's own process. Nothing if it has ended.
  // Sends the signal to all processes of the tree (0: none), and returns how many run in it.
  size_t SignalTree(int number);

 private:
  Child(pid_t pid, std::string mark) : pid_(pid), mark_(std::move(mark)) {}
  void KillAndReap();

  pid_t pid_ = -1;  // And its group's. Not reaped before the end, so that no other process gets it.
  std::string mark_;
  std::optional<Exit> exit_;
};

}  // namespace paceline::local
