#include "simulator/driver/injected.h"

#include <utility>

namespace paceline::simulator {

StatusOr<std::vector<chaos::Delays>> InjectedDelays(const ClusterOptions& options) {
  std::vector<chaos::Delays> delays;
  if (!options.injected.enabled || options.injected.delays.empty()) return delays;
  for (uint64_t i = 0; i < options.workers.size(); ++i) {
    PACELINE_ASSIGN_OR_RETURN(
        chaos::Delays of_worker,
        chaos::Delays::Create(options.injected, WorkerId(i), options.injected_traces));
    delays.push_back(std::move(of_worker));
  }
  return delays;
}

std::vector<std::optional<chaos::Link>> InjectedLinks(const ClusterOptions& options) {
  std::vector<std::optional<chaos::Link>> links;
  for (uint64_t i = 0; i < options.workers.size(); ++i)
    links.push_back(chaos::LinkOf(options.injected, WorkerId(i)));
  return links;
}

}  // namespace paceline::simulator
