// Decides about workers whose pushes are not finite, alike for all schemes without a barrier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/base/version.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"

namespace paceline::sync {

inline constexpr uint32_t kNonFiniteInARowMax = 3;  // Then the worker is expelled.

enum class NonFiniteVerdict { kTryAgain, kExpelled, kRolledBack };

// A member's pushes of late, by those that were not finite.
struct NonFinitePushes {
  uint32_t in_a_row = 0;
  Version on;  // The last of them was based on that.
};

inline std::string Describe(const NonFinitePushes& pushes) {
  return pushes.in_a_row == 0 ? "0" : fmt::format("{}@{}", pushes.in_a_row, pushes.on);
}

// The newest version that a finite push was based on, after one more of them.
inline void NoteFinite(const PushArrived& push, std::optional<Version>& finite_on) {
  finite_on = std::max(finite_on.value_or(push.based_on), push.based_on);
}

// After a dropped push that counts as its worker's. `members` is a map of what has `non_finite`, by
// worker. Where the latest pushes of more than half of the members are not finite, it is not they
// who are ill: the model goes back. A push on a version on which, or on a later one, another one
// was finite says nothing of the model. Adds the decision, if it takes one.
template <class Members>
NonFiniteVerdict DecideOnNonFinite(Members& members, const PushArrived& push,
                                   const std::optional<Version>& finite_on,
                                   std::vector<Decision>& decisions) {
  NonFinitePushes& own = members.at(push.worker).non_finite;
  ++own.in_a_row;
  own.on = push.based_on;
  const auto ill = std::count_if(members.begin(), members.end(), [&](const auto& entry) {
    const NonFinitePushes& pushes = entry.second.non_finite;
    return pushes.in_a_row > 0 && (!finite_on || pushes.on > *finite_on);
  });
  if (2 * static_cast<size_t>(ill) > members.size()) {
    decisions.push_back(RollBack{.reason = RollBackReason::kNonFinite});
    return NonFiniteVerdict::kRolledBack;
  }
  if (own.in_a_row < kNonFiniteInARowMax) return NonFiniteVerdict::kTryAgain;
  decisions.push_back(Expel{push.worker, ExpelReason::kNonFiniteRepeatedly});
  return NonFiniteVerdict::kExpelled;
}

}  // namespace paceline::sync
