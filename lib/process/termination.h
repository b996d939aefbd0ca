// Defines TerminationSignals: turns SIGTERM and SIGINT into a call on a thread of their own.
#pragma once

#include <functional>
#include <thread>

namespace paceline::process {

// Keeps the two signals from the process's threads: call before any thread is started, once, in
// main.
void BlockTerminationSignals();

// Calls `asked` at the first signal; a second one ends the process at once with 128 + its number.
class TerminationSignals {
 public:
  explicit TerminationSignals(std::function<void()> asked);
  ~TerminationSignals();  // No call after it.

 private:
  void Run();

  std::function<void()> asked_;
  int stop_descriptor_ = -1;
  std::thread thread_;
};

}  // namespace paceline::process
