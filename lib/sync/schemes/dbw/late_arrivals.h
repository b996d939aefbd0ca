// Defines LateArrivals: what pushes that came too late say of the step that did not wait for them.
//
// A step that closes with its k-th push shows nothing of T(h, i) for i > k. But where late workers
// finish what they do, each of them shows soon afterwards when its push of that step would have
// come: with the first push that it computes from the beginning of that step on, on whatever
// version. Its round trip does not depend on what the step waited for. So one step at a time is
// followed until all its members have pushed; that is no guess, but the time itself.
//
// One at a time, because a single slow round trip delays many steps, and the table of durations
// takes two odd times in a row for a change.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/base/version.h"

namespace paceline::sync {

// A value. `now` never decreases.
class LateArrivals {
 public:
  struct Arrival {
    uint32_t h = 0;     // Pushes of the step before the one that is followed.
    uint32_t rank = 0;  // From 1.
    double seconds = 0;
    bool is_late = false;  // The step has closed without it.
  };

  // A step of `members` begins on `version`, and is followed if none is. One whose members do not
  // all push until `deadline`, if there is one, is given up.
  void Began(Version version, uint32_t h, uint32_t members, std::optional<Time> deadline, Time now);

  // The running step closed.
  void Closed() {
    if (step_) step_->is_closed = true;
  }

  // A push computed on `based_on` came. Its place in the step that is followed, if that has not
  // seen the worker yet.
  std::optional<Arrival> Pushed(WorkerId worker, Version based_on, Time now);

  // The members or their batches are others from now on, or somebody is not waited for: nothing is
  // followed.
  void GiveUp() { step_.reset(); }

  std::string DebugString(Time now) const;

 private:
  struct Step {
    Version version;
    uint32_t h = 0;
    uint32_t members = 0;
    Time began{};
    std::optional<Time> deadline;
    bool is_closed = false;
    std::set<WorkerId> arrived;
  };
  std::optional<Step> step_;
};

}  // namespace paceline::sync
