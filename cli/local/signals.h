// Defines Signals: waits for children, Ctrl-C and time, whichever comes first.
#pragma once

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::local {

// Takes SIGCHLD, SIGINT and SIGTERM away from their default actions for the whole process, as long
// as it lives. Make it before any other thread. One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Returns at the first of the three signals, or after `timeout`.
  void Wait(Duration timeout);
  // Times that SIGINT or SIGTERM came.
  int interruptions() const { return interruptions_; }

 private:
  int descriptor_ = -1;
  int interruptions_ = 0;
};

}  // namespace paceline::local
