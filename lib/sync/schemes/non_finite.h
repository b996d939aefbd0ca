// Defines NonFinitePushes: what is remembered of a member's pushes that were not finite.
#pragma once

#include <cstdint>

#include "lib/base/version.h"

namespace paceline::sync {

inline constexpr uint32_t kNonFiniteInARowMax = 3;  // Then the worker is expelled.

struct NonFinitePushes {
  uint32_t in_a_row = 0;
  Version on;  // The last of them was based on that.
};

}  // namespace paceline::sync
