// Defines Eventually: how tests wait for what another thread, process or machine does. It has the
// one poll of all C++ tests; tools/lint_sleeps.py counts the other sleeps.
//
// Example:
//   ASSERT_TRUE(Eventually([&] { return ReadText(log).find("leading") != std::string::npos; }));
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace paceline::testing {

// Asks at once, and then once a period, until `is_so` says yes; false if it has not by the
// deadline.
inline bool Eventually(const std::function<bool()>& is_so, double timeout_seconds = 30,
                       std::chrono::milliseconds period = std::chrono::milliseconds(50)) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(period);
  }
  return true;
}

}  // namespace paceline::testing
