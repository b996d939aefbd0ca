// Defines FleetTimes: how long the steps of each worker that takes part take.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/id_table.h"
#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/sync/schemes/auto/shadow.h"
#include "lib/sync/schemes/auto/step_times.h"

namespace paceline::sync {

class FleetTimes {
 public:
  void Joined(WorkerId worker) { workers_[worker] = {}; }
  void Left(WorkerId worker) { workers_.erase(worker); }

  // A step of so many samples begins.
  void Began(WorkerId worker, uint32_t samples, Time now);
  struct Step {
    bool has_changed = false;    // The worker has become another one.
    std::optional<double> cost;  // Seconds beside computing, from its release to its push.
  };
  // It ended, having computed `compute`.
  Step Ended(WorkerId worker, uint32_t samples, Duration compute, Time now);
  // It was given up; of its age, `communication` seconds are not computing.
  bool Aborted(WorkerId worker, double communication, Time now);
  // It had nothing to do.
  void Stopped(WorkerId worker);

  uint32_t size() const { return static_cast<uint32_t>(workers_.size()); }
  // Somebody's times are too few to go by.
  bool IsAnyUnknown() const;
  // Good until the next call that is not const.
  std::vector<ShadowWorker> Shadows(double communication, Time now) const;

 private:
  struct Worker {
    StepTimes times;
    std::optional<Time> since;  // Its step was sent on its way.
    uint32_t samples = 0;       // Of that.
    bool is_warm = false;       // Its first step, which takes longer than others, is over.
  };
  static double Age(const Worker& worker, double communication, Time now);

  IdTable<WorkerId, Worker> workers_;
};

}  // namespace paceline::sync
