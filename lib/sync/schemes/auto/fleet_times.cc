#include "lib/sync/schemes/auto/fleet_times.h"

#include <algorithm>

namespace paceline::sync {
namespace {

constexpr size_t kTimesMin = 2;

}  // namespace

void FleetTimes::Began(WorkerId worker, uint32_t samples, Time now) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  found->second.since = now;
  found->second.samples = samples;
}

FleetTimes::Step FleetTimes::Ended(WorkerId worker, uint32_t samples, Duration compute, Time now) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return {};
  Worker& known = found->second;
  const std::optional<Time> since = std::exchange(known.since, std::nullopt);
  if (!std::exchange(known.is_warm, true)) return {};
  // The last samples of an epoch: what a step costs beside its samples would be all of it.
  if (2 * samples < known.samples) return {};
  known.times.Add(ToSeconds(compute) / samples);
  Step step{.has_changed = known.times.has_changed()};
  if (since) step.cost = std::max(ToSeconds(now - *since - compute), 0.0);
  return step;
}

bool FleetTimes::Aborted(WorkerId worker, double communication, Time now) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return false;
  Worker& known = found->second;
  const double age = Age(known, communication, now);
  known.since.reset();
  if (age <= 0) return false;
  known.times.AddAborted(age);
  return known.times.has_changed();
}

void FleetTimes::Stopped(WorkerId worker) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) found->second.since.reset();
}

bool FleetTimes::IsAnyUnknown() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& entry) { return entry.second.times.size() < kTimesMin; });
}

std::vector<ShadowWorker> FleetTimes::Shadows(double communication, Time now) const {
  std::vector<ShadowWorker> shadows;
  shadows.reserve(workers_.size());
  for (const auto& [id, worker] : workers_)
    shadows.push_back({&worker.times, Age(worker, communication, now)});
  return shadows;
}

double FleetTimes::Age(const Worker& worker, double communication, Time now) {
  if (!worker.since) return 0;
  const double seconds = ToSeconds(now - *worker.since) - communication;
  return std::max(seconds, 0.0) / std::max(worker.samples, 1u);
}

}  // namespace paceline::sync
