// What a job writes down of itself: spec.observability.
#pragma once

#include <cstdint>
#include <optional>

namespace paceline::job {

inline constexpr int64_t kTraceBytes = 256 << 20;

// The policy's trace, which `paceline replay` and `advise` read.
struct TraceFiles {
  // Of all of its files; 0: none is written. Unset: kTraceBytes on one machine, where a run has a
  // folder of its own; none in pods, where it would lie on a volume of the user's.
  std::optional<int64_t> max_bytes;
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
