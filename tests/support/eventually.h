// Waits for what somebody else does, in tests.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace paceline::testing {

// Asks again and again until `is_so` says yes; false after the deadline.
inline bool Eventually(const std::function<bool()>& is_so, double timeout_seconds = 30) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace paceline::testing
