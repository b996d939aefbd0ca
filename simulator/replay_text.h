// Defines what `paceline replay` says of a recorded run.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/schemes/policy_spec.h"
#include "lib/sync/trace/replay.h"
#include "lib/sync/trace/what_if.h"
#include "simulator/recorded_run.h"

namespace paceline::simulator {

std::string ReplayText(const std::string& source, const sync::ReplayResult& result);
std::string WhatIfText(const std::string& source, const sync::PolicySpec& other,
                       const sync::WhatIfResult& result);

// The policy of the run's job with these fields of its spec replaced (PATH=VALUE, with or without
// "spec." before it). InvalidArgument with all that is wrong, or if the run has no job.
StatusOr<sync::PolicySpec> PolicyWith(const RecordedRun& run,
                                      const std::vector<std::string>& overrides);

}  // namespace paceline::simulator
