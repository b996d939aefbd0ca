// Defines RunSeries: what the trace of a run says of its pace.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace paceline::compare {

// Seconds here count from the run's first release.
struct CommitPoint {
  double seconds = 0;
  uint32_t pushes = 0;  // k.
  double loss = 0;      // Sample-weighted mean of its pushes.
};

struct BatchPoint {  // From now on the worker's batch is so large.
  double seconds = 0;
  uint64_t worker = 0;
  uint32_t samples = 0;
};

struct RunSeries {
  std::vector<CommitPoint> commits;
  std::vector<BatchPoint> batches;          // Changes alone.
  std::map<uint64_t, double> published_at;  // By version.
  std::vector<double> step_seconds;  // From a worker's push to its next, for each local step in it.
  double compute = 0;                // Sums over all pushes, seconds.
  double injected = 0;               // Of compute, slept on purpose.
  double wait = 0;
  double communication = 0;
  uint64_t samples_pushed = 0;
  uint64_t samples_dropped = 0;
  uint64_t gaps = 0;  // Parts of the trace that are missing, and in no sum.
};

// InvalidArgument, with the line's number, for a line that is no event and no decision. A last line
// without its end is left out.
StatusOr<RunSeries> ReadSeries(std::string_view trace_text);

// The middle one; of an even number, the mean of both. 0 if there is none.
double Median(std::vector<double> values);

}  // namespace paceline::compare
