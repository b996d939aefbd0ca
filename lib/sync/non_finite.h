// Decides about workers whose pushes are not finite, alike for all schemes without a barrier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/sync/decision.h"

namespace paceline::sync {

inline constexpr uint32_t kNonFiniteInARowMax = 3;  // Then the worker is expelled.

enum class NonFiniteVerdict { kTryAgain, kExpelled, kRolledBack };

// After a dropped push of `worker`, which counts in its `non_finite_in_a_row`. `members` is a map
// of what has that field, by worker. Where the latest pushes of more than half of the members are
// not finite, it is not they who are ill: the model goes back. Adds the decision, if it takes one.
template <class Members>
NonFiniteVerdict DecideOnNonFinite(const Members& members, WorkerId worker,
                                   std::vector<Decision>& decisions) {
  const auto ill = std::count_if(members.begin(), members.end(), [](const auto& entry) {
    return entry.second.non_finite_in_a_row > 0;
  });
  if (2 * static_cast<size_t>(ill) > members.size()) {
    decisions.push_back(RollBack{.reason = RollBackReason::kNonFinite});
    return NonFiniteVerdict::kRolledBack;
  }
  if (members.at(worker).non_finite_in_a_row < kNonFiniteInARowMax)
    return NonFiniteVerdict::kTryAgain;
  decisions.push_back(Expel{worker, ExpelReason::kNonFiniteRepeatedly});
  return NonFiniteVerdict::kExpelled;
}

}  // namespace paceline::sync
