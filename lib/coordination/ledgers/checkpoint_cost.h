// Defines CheckpointCost: what writing a checkpoint beside training costs, in time of training.
//
// The steps that are made while one is written take longer than the others: what they take longer
// is the cost.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/time.h"

namespace paceline::coordination {

// A value. Told in the order of time.
class CheckpointCost {
 public:
  void Published(Time now);  // A version.
  void Began(Time now);      // One is being written...
  void Ended(Time now);      // ...and is there, or was given up.
  void Interrupted();        // Training stopped: the time until it goes on is no step's.

  // Of the last one that ended, once a version was published since: at least a twentieth of the
  // time that it took, since steps vary and disks are shared. All of that time where no step
  // without a checkpoint is known yet: the first step of a life, which loads and compiles, says
  // nothing of what writing beside it costs. Zero before.
  Duration last() const { return cost_; }

 private:
  // From the version before the one that was being written was begun, to the first one after it.
  struct Window {
    Time from;
    Time began;
    std::optional<Time> ended;
    uint64_t steps = 0;
  };

  Duration cost_{};
  std::optional<Duration> step_;  // Without a checkpoint: a mean that forgets.
  std::optional<Time> published_;
  std::optional<Window> window_;
};

}  // namespace paceline::coordination
