// Defines StragglerWatch: who has been much slower than the others for long.
//
// Like NVRx' relative score, it compares with the others now, not with a worker's own past: what
// counts is the time for a sample, so that batches of unequal size are fair.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "ps-server/coordinator/lower_median.h"

namespace paceline::ps {

struct StragglerOptions {
  double slowdown_percent = 200;  // Of the median worker's time for a sample.
  Duration for_time = std::chrono::seconds(120);
};

struct WorkerPace {
  double compute_seconds_p50 = 0;  // Of one push, over its latest ones.
  double slowdown_percent = 0;     // 100: as fast as the median worker; 0 while it is not known.
  bool is_straggler = false;
};

// A value; time is an argument. One owner at a time. A push costs O(log n), a look O(1), n workers.
class StragglerWatch {
 public:
  explicit StragglerWatch(StragglerOptions options) : options_(options) {}

  // Nothing was computed: nobody was quick.
  void Pushed(WorkerId worker, Duration compute, uint64_t samples, Time now);
  void Left(WorkerId worker);

  // Of a worker that has not pushed: zeros.
  WorkerPace PaceOf(WorkerId worker, Time now) const;

 private:
  struct Past {
    std::deque<double> seconds;                // Of the latest pushes, oldest first.
    std::deque<double> sample_seconds;         // Likewise, divided by their samples.
    std::optional<double> sample_seconds_p50;  // Once it has pushed.
    std::optional<Time> slow_since;
  };
  void Forget(const Past& past);  // Its pace no longer counts for the median.
  double SlowdownOf(const Past& past) const;

  StragglerOptions options_;
  std::map<WorkerId, Past> workers_;
  // Of their paces. The lower one of two: of two workers the slow one is slow, not half of the
  // measure.
  LowerMedian median_;
};

}  // namespace paceline::ps
