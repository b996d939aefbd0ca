// Defines CalendarTime and Validity: when certificates are good, in the world's time.
#pragma once

#include <chrono>

namespace paceline::tls {

// UTC, in whole seconds, as certificates count. Told by whoever calls: nothing here reads a clock.
using CalendarTime = std::chrono::sys_seconds;

// Both ends belong to it. Clocks of two machines differ: begin some minutes before now.
struct Validity {
  CalendarTime not_before;
  CalendarTime not_after;
};

}  // namespace paceline::tls
