// Defines RefusedPods: which pods the API server would not make, and when they are asked for again.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/job/plan/plan.h"

namespace paceline::controller {

// A quota, an admission webhook or a Pod Security level says no for as long as it likes. All of a
// job's pods are asked for once; of those that were refused one is asked for again, later and
// later, and all of them once that one was made. Other pods do not wait for these. Of one job; used
// by one thread at a time.
class RefusedPods {
 public:
  static constexpr Duration kPauseMin = Seconds(0.1), kPauseMax = Seconds(60);

  // What of `actions`, the whole of a plan, is to be done at `now`. A pod that is not among them is
  // wanted no more, and is forgotten.
  std::vector<job::Action> Due(std::vector<job::Action> actions, Time now);

  // What became of those that were asked for.
  void Made(const std::string& name, Time now);
  void Refused(const std::string& name);
  // After a round of them, or whatever else could not be done for the pods: it is tried again, not
  // before `at_least`.
  void Pause(Time now, Duration at_least);
  void Settle() { pause_ = Duration::zero(); }  // All could be done.

  // When there is something to try again; absent: nothing waits.
  std::optional<Time> due() const { return due_; }
  bool empty() const { return names_.empty(); }

 private:
  std::set<std::string> names_;
  std::string asked_;  // The one of them that is asked for.
  Duration pause_{};
  std::optional<Time> due_;
};

}  // namespace paceline::controller
