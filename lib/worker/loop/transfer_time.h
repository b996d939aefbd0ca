// Defines TransferTime: how long a worker's transfers took that run beside its computing.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/time.h"
#include "lib/sync/contract/event.h"

namespace paceline::worker {

// Transfers may run side by side: their time counts once. A value; one owner at a time.
class TransferTime {
 public:
  void Begin(Time now) {
    if (running_++ == 0) since_ = now;
  }
  void End(Time now) {
    Take(now);
    if (--running_ == 0) since_.reset();
  }

  // What transfers took since the last call, a running one up to now; of it, what the computing
  // thread did not stand still for.
  Duration TakeOverlapped(Time now, const sync::Timing& meanwhile) {
    Take(now);
    return std::max(std::exchange(sum_, {}) - meanwhile.communication, Duration{});
  }

 private:
  void Take(Time now) {
    if (since_) sum_ += now - std::exchange(*since_, now);
  }

  int running_ = 0;
  std::optional<Time> since_;  // The first running transfer began, or was taken last.
  Duration sum_{};
};

}  // namespace paceline::worker
