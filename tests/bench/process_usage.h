// Defines ProcessUsage: what a process has used so far.
#pragma once

#include <sys/types.h>

namespace paceline::bench {

struct ProcessUsage {
  double cpu_seconds = 0;  // User and system.
  double resident_mb = 0;  // Now; 10^6 bytes.
};

// Zeros if there is no such process.
ProcessUsage UsageOf(pid_t process);

}  // namespace paceline::bench
