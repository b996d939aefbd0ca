#include "simulator/calibration/still.h"

#include <algorithm>
#include <vector>

namespace paceline::simulator {
namespace {

// Of a sample, in seconds, beside what was injected; 0: no push tells.
struct OwnTime {
  RecordedWorker* worker = nullptr;
  double least = 0, median = 0;
};

OwnTime OwnTimeOf(RecordedWorker& worker) {
  const size_t first = worker.pushes.size() > kFirstPushes ? kFirstPushes : 0;
  std::vector<double> seconds;
  for (size_t i = first; i < worker.pushes.size(); ++i) {
    const RecordedPush& push = worker.pushes[i];
    const double own = push.compute - push.injected;
    if (own > 0 && push.samples > 0) seconds.push_back(own / push.samples);
  }
  if (seconds.empty()) return {&worker};
  std::ranges::sort(seconds);
  return {&worker, seconds.front(), seconds[seconds.size() / 2]};
}

// Each has the least of its kind, whose quickest comes first.
void MakeAlike(std::vector<OwnTime>& times) {
  std::ranges::stable_sort(times, {}, &OwnTime::least);
  OwnTime quickest;
  for (OwnTime& one : times) {
    if (one.least > quickest.median) quickest = one;
    one.least = quickest.least;
  }
}

}  // namespace

Recording Still(Recording recording) {
  std::vector<OwnTime> times;
  for (RecordedWorker& worker : recording.workers) times.push_back(OwnTimeOf(worker));
  MakeAlike(times);
  for (const OwnTime& one : times) {
    for (RecordedPush& push : one.worker->pushes) {
      const double before = push.compute;
      push.compute = push.injected + one.least * push.samples;
      push.came += Seconds(push.compute - before);
    }
  }
  return recording;
}

}  // namespace paceline::simulator
