// Defines Link: how slow a worker's way to the shards is made, as spec.chaos.links says.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::chaos {

struct Link {
  int64_t bytes_per_second = 0;  // Each way.
  Duration latency{};            // Of each transfer.

  // The least time that so many bytes take.
  Duration TimeFor(uint64_t bytes) const;
};

// Of all that hit the worker, the narrowest width and the sum of the latencies: links in a row.
// Nothing if none does, or chaos is not enabled. `worker` is its index, in `group` where the job
// has groups.
std::optional<Link> LinkOf(const job::Chaos& chaos, WorkerId worker, std::string_view group = "");

}  // namespace paceline::chaos
