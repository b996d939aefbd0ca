// Defines Delays: how long a worker sleeps after computing a step, as spec.chaos.delays says.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(const Delays delays, Delays::Create(job.spec.chaos, worker, traces));
//   Duration sleep = delays.After({.index = 17, .samples = 16, .compute = measured});
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/chaos/trace_table.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::chaos {

// A step that a worker has computed.
struct ComputedStep {
  uint64_t index = 0;  // Counts all steps of the worker's process, from 0.
  uint64_t samples = 0;
  Duration compute{};  // As measured.
};

// The text of each Trace's file, by the path that the manifest gives.
using TraceTexts = std::map<std::string, std::string>;

// Paths of the traces that hit this worker; what Create wants the text of. `worker` is its index,
// in `group` where the job has groups.
std::vector<std::string> TracePaths(const job::Chaos& chaos, WorkerId worker,
                                    std::string_view group = "");

// The delays of one worker. A value, immutable: equal arguments give equal delays.
//
// They act one after the other, in the manifest's order, on the length of the step so far, which
// begins as the measured compute time: Constant, PerWorker, PerSample and Trace add seconds;
// ShiftedExponential draws a length and waits until the step is that long; Ratio and StepChange
// stretch the length so far, what earlier delays added included.
class Delays {
 public:
  // Empty unless chaos is enabled. `chaos` is valid. InvalidArgument, naming field and file, for a
  // trace that cannot be read.
  static StatusOr<Delays> Create(const job::Chaos& chaos, WorkerId worker, const TraceTexts& traces,
                                 std::string_view group = "");

  bool empty() const { return rules_.empty(); }
  // At least 0, at most an hour.
  Duration After(const ComputedStep& step) const;

 private:
  struct Rule {
    job::Delay delay;
    uint64_t position = 0;  // In the manifest's list.
    std::optional<TraceTable> trace;
  };

  Delays(uint64_t seed, WorkerId worker, uint64_t stream)
      : seed_(seed), worker_(worker), stream_(stream) {}
  // What `rule` makes of a step that took `seconds` so far.
  double Stretch(const Rule& rule, const ComputedStep& step, double seconds) const;

  uint64_t seed_;
  WorkerId worker_;  // Its index.
  uint64_t stream_;  // Of its chances, apart from those of all others.
  std::vector<Rule> rules_;
};

}  // namespace paceline::chaos
