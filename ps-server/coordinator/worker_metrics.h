// Defines WorkerMetrics: what is counted and measured of each worker by itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/coordination/coordinator.h"
#include "lib/protocol/seat.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"
#include "lib/telemetry/metrics.h"

namespace paceline::ps {

// One owner at a time; the registry may be read by any. A worker's series are looked up once: a
// push costs the worker's place among the others.
class WorkerMetrics {
 public:
  // Registers every family. `metrics` outlives it.
  explicit WorkerMetrics(telemetry::Metrics* metrics);
  ~WorkerMetrics();

  // Whose that number is, before anything else is said of it; else it is one without a group.
  void Joined(WorkerId worker, const protocol::Seat& seat);
  void Pushed(const sync::PushArrived& push);
  // `staleness`, `compute`: of the push; nothing where it is not known any more.
  void Accepted(WorkerId worker, std::optional<uint64_t> staleness);
  void Dropped(WorkerId worker, sync::DropReason reason, std::optional<Duration> compute);
  // What is known of it now; counts are of its present generation.
  void Is(const coordination::WorkerStatus& status);

 private:
  struct Families;
  struct Series;
  Series& Of(WorkerId worker);

  std::unique_ptr<Families> families_;
  std::map<WorkerId, Series> series_;
};

}  // namespace paceline::ps
