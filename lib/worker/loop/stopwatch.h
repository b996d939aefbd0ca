// Defines Stopwatch: splits a worker's time between two pushes into compute, wait and
// communication.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "lib/base/time.h"
#include "lib/sync/contract/event.h"

namespace paceline::worker {

enum class Activity { kCompute, kWait, kCommunication };

// A value. One owner at a time.
class Stopwatch {
 public:
  explicit Stopwatch(std::function<Time()> now) : now_(std::move(now)), since_(now_()) {}

  // From now on time counts as `activity`.
  void Switch(Activity activity) {
    const Time now = now_();
    Part(activity_) += now - since_;
    since_ = now;
    activity_ = activity;
  }

  // So much of the time that counts as computing was slept on purpose.
  void Injected(Duration duration) { timing_.injected += duration; }

  // So much of the time that counts as computing counts as nothing.
  void Paused(Duration duration) { paused_ += duration; }

  // What has passed since the last call of Take; starts over.
  sync::Timing Take() {
    Switch(activity_);
    timing_.compute -= std::min(timing_.compute, std::exchange(paused_, Duration::zero()));
    return std::exchange(timing_, {});
  }

 private:
  Duration& Part(Activity activity) {
    switch (activity) {
      case Activity::kCompute:
        return timing_.compute;
      case Activity::kWait:
        return timing_.wait;
      case Activity::kCommunication:
        break;
    }
    return timing_.communication;
  }

  std::function<Time()> now_;
  Time since_;
  Activity activity_ = Activity::kWait;
  sync::Timing timing_;
  Duration paused_{};
};

}  // namespace paceline::worker
