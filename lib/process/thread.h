// Defines StartThread: a thread, or an error where there can be none.
#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/base/status.h"

namespace paceline::process {

// What stops threads from being started, in words.
inline constexpr std::string_view kThreadLimits =
    "see the limit of processes (ulimit -u) and the pids limit of the container";

// While it lives, this thread goes on where another cannot be started (guard/thread_guard.h).
class GoesOnWithoutThread {
 public:
  GoesOnWithoutThread() { ++depth; }
  ~GoesOnWithoutThread() { --depth; }
  GoesOnWithoutThread(const GoesOnWithoutThread&) = delete;
  GoesOnWithoutThread& operator=(const GoesOnWithoutThread&) = delete;
  static bool Is() { return depth > 0; }

 private:
  static inline thread_local int depth = 0;
};

// Runs `body` on a thread of its own. ResourceExhausted, with the system's words and which limits
// there are, if no thread can be started; `body` is then gone.
template <class Body>
StatusOr<std::thread> StartThread(Body body) {
  try {
    const GoesOnWithoutThread guard;
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return ResourceExhausted("cannot start a thread: {}: {}", error.code().message(),
                             kThreadLimits);
  }
}

}  // namespace paceline::process
