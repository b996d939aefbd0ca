// Defines Time and Duration for code that is told the time and never reads a clock.
//
// Example:
//   Time deadline = now + Seconds(10);
//   double seconds = ToSeconds(deadline - now);
#pragma once

#include <chrono>

namespace paceline {

using Duration = std::chrono::nanoseconds;

// The clock of one job on one host. It has no now(): live shells convert the steady clock into it
// (telemetry/clock.h), the simulator moves it by events, tests write it down.
struct JobClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<JobClock>;
  static constexpr bool is_steady = true;
};

using Time = JobClock::time_point;

// Values beyond what nanoseconds hold (about 292 years) are the caller's mistake.
constexpr Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

constexpr double ToSeconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace paceline
