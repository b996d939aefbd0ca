// Defines TimeSpent: where a virtual worker's time went since its last push, as lib/worker counts
// it.
#pragma once

#include <algorithm>
#include <utility>

#include "lib/base/time.h"
#include "lib/sync/contract/event.h"

namespace paceline::simulator {

enum class Activity { kWait, kCompute, kCommunication };

// A value. `now` never decreases.
class TimeSpent {
 public:
  Activity activity() const { return activity_; }
  // From now on time is the activity's. How long the one before took since the last call.
  Duration Switch(Time now, Activity activity) {
    const Duration spent = now - since_;
    PartOf(activity_) += spent;
    since_ = now;
    activity_ = activity;
    return spent;
  }
  // What was spent since the last Take, up to the last Switch.
  sync::Timing Take() { return std::exchange(timing_, {}); }

  // Transfers that may run beside computing, and side by side: their time counts once.
  void TransferBegins(Time now) {
    if (running_++ == 0) transferring_since_ = now;
  }
  void TransferEnds(Time now) {
    CountTransfers(now);
    --running_;
  }
  // What transfers took since the last call beside which the worker did not stand still.
  Duration TakeOverlapped(Time now, const sync::Timing& meanwhile) {
    CountTransfers(now);
    return std::max(std::exchange(transferred_, {}) - meanwhile.communication, Duration{});
  }

 private:
  Duration& PartOf(Activity activity) {
    switch (activity) {
      case Activity::kWait:
        return timing_.wait;
      case Activity::kCompute:
        return timing_.compute;
      case Activity::kCommunication:
        break;
    }
    return timing_.communication;
  }
  void CountTransfers(Time now) {
    if (running_ > 0) transferred_ += now - std::exchange(transferring_since_, now);
  }

  Activity activity_ = Activity::kWait;
  Time since_{};
  sync::Timing timing_;
  int running_ = 0;
  Time transferring_since_{};
  Duration transferred_{};
};

}  // namespace paceline::simulator
