// Defines Recording: what a policy trace says of the speed of workers, links and commits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::simulator {

// A push, as its worker told it.
struct RecordedPush {
  uint32_t samples = 0;
  uint32_t steps = 1;        // Local steps in it.
  double compute = 0;        // Seconds, of all of its steps.
  double communication = 0;  // Seconds that did not overlap computing.
  Duration came{};           // Since the first worker joined.
  double injected = 0;       // Seconds of `compute`, slept on purpose.
};

// A time in which a worker was not there.
struct RecordedAbsence {
  Duration from{};                  // Since the first worker joined.
  std::optional<Duration> lasting;  // Absent: it did not come back.
  bool is_silent = false;           // The server waited for it in vain.
};

// What a process meets for the first time is slow: so many pushes of each tell of nothing else.
inline constexpr size_t kFirstPushes = 2;

struct RecordedWorker {
  WorkerId worker;
  Duration joined{};  // Since the first worker joined.
  std::vector<RecordedPush> pushes;
  std::vector<RecordedAbsence> absences;  // In order.
};

struct Recording {
  std::string policy;           // The first that the trace has, in its words.
  uint64_t batch = 0;           // Samples of a step of all workers; 0: the trace does not say.
  uint64_t policies = 0;        // That it has, one after the other; a change of scheme is one.
  double learning_rate = 0;     // The schedule's, the largest of a commit.
  uint64_t versions = 0;        // That were committed.
  uint64_t gaps = 0;            // Parts of the trace that are missing.
  double seconds = 0;           // From the first commit to the last, without the gaps.
  std::vector<double> commits;  // Seconds from each commit's decision until it was published.
  std::vector<RecordedWorker> workers;  // In the order in which they joined.
};

// `trace` as lib/sync/trace writes it; a last line that is cut off is left out. InvalidArgument,
// naming the line, if it cannot be read, or if nothing was committed in it.
StatusOr<Recording> ReadRecording(std::string_view trace);

}  // namespace paceline::simulator
