// Defines what a TrainingJob's spec.chaos makes of a simulated cluster.
#pragma once

#include <optional>
#include <vector>

#include "lib/base/status.h"
#include "lib/chaos/delays.h"
#include "lib/chaos/links.h"
#include "simulator/driver/cluster.h"

namespace paceline::simulator {

// Of each worker, by its index; empty where no delays are injected. InvalidArgument for a trace
// that is no table of seconds.
StatusOr<std::vector<chaos::Delays>> InjectedDelays(const ClusterOptions& options);
// Of each worker, by its index.
std::vector<std::optional<chaos::Link>> InjectedLinks(const ClusterOptions& options);

}  // namespace paceline::simulator
