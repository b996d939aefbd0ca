// What a job writes down of itself: spec.observability.
#pragma once

#include <cstdint>

namespace paceline::job {

// The policy's trace, which `paceline replay` and `advise` read.
struct TraceFiles {
  int64_t max_bytes = 256 << 20;  // Of all of its files; 0: none is written.
  friend bool operator==(const TraceFiles&, const TraceFiles&) = default;
};

// What processes print, where Paceline itself keeps it: on one machine.
struct LogFiles {
  int64_t max_bytes = 64 << 20;  // Of each process.
  friend bool operator==(const LogFiles&, const LogFiles&) = default;
};

struct Observability {
  TraceFiles trace;
  LogFiles logs;
  friend bool operator==(const Observability&, const Observability&) = default;
};

}  // namespace paceline::job
