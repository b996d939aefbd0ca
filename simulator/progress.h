// Defines Progress: what is done, and how long the rest will take, on one line of a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace paceline::simulator {

// Nothing is written where standard error is no terminal. The line goes when this does.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `what` begins, `done` of `all` are done.
  void Show(const std::string& what, size_t done, size_t all);

 private:
  const bool is_shown_;
  const std::chrono::steady_clock::time_point began_;
};

}  // namespace paceline::simulator
