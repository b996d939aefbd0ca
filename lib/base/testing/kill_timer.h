// Defines KillThisProcessIn: a death at a moment that is drawn, of a process that a test forked.
//
// Example:
//   if (fork() == 0) { KillThisProcessIn(moment); WorkForever(); }
//   waitpid(...)   // What it left behind may be looked at.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>

#include "lib/base/check.h"

namespace paceline::testing {

// The kernel sends SIGKILL once that much time has gone by, whatever the process does by then; a
// child of it gets none. Returns at once. Call it once a process.
inline void KillThisProcessIn(std::chrono::duration<double> moment) {
  const auto nanoseconds = std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(moment),
                                    std::chrono::nanoseconds(1));  // 0 would be never.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(nanoseconds);
  sigevent kill_it{};
  kill_it.sigev_notify = SIGEV_SIGNAL;
  kill_it.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec once{};
  once.it_value.tv_sec = seconds.count();
  once.it_value.tv_nsec = (nanoseconds - seconds).count();
  PACELINE_CHECK(timer_create(CLOCK_MONOTONIC, &kill_it, &timer) == 0 &&
                     timer_settime(timer, 0, &once, nullptr) == 0,
                 "no timer");
}

}  // namespace paceline::testing
