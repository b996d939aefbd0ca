// Defines Janitor: cleans up after a run whose `paceline run` was killed.
#pragma once

#include <string>

#include <sys/types.h>

#include "lib/base/status.h"

namespace paceline::local {

// A process that waits for this one's end. If it comes before Dismiss, it kills all processes that
// carry the run's mark (lib/process/tree.h), for a minute at most, and removes the private folder.
// What ends by its own parent's death (Child) ends sooner; this is for what scripts started.
class Janitor {
 public:
  // Forks, and what is forked runs on: start it before any other thread. `folder` is absolute, and
  // begins the mark of every process of the run. Internal, with the system's words.
  static StatusOr<Janitor> Start(const std::string& folder);
  Janitor() = default;  // Nobody.
  Janitor(Janitor&& other) noexcept;
  Janitor& operator=(Janitor&& other) noexcept;
  ~Janitor() { Dismiss(); }

  // It ends and has done nothing.
  void Dismiss();

 private:
  Janitor(pid_t pid, int pipe) : pid_(pid), pipe_(pipe) {}

  pid_t pid_ = -1;
  int pipe_ = -1;  // Its other end sees ours go.
};

}  // namespace paceline::local
