// Defines Version, a published state of the parameters, and Generation, which fences it.
#pragma once

#include <compare>
#include <cstdint>

#include "lib/base/ids.h"

namespace paceline {

// The number of commits since startup (or since the checkpoint's own count): v0 is the initial
// state.
using Version = Id<VersionTag>;

// A life of the parameter server as a whole. A message that carries another generation than the
// receiver's is refused, so that nothing of an earlier life is ever applied in a later one.
struct Generation {
  uint64_t start = 0;    // Given by the planner, one more for each coordinator it creates.
  uint64_t counter = 0;  // Raised by the coordinator at each loss of a shard.
  friend constexpr auto operator<=>(const Generation&, const Generation&) = default;
};

}  // namespace paceline

template <>
struct fmt::formatter<paceline::Generation> : fmt::formatter<std::string> {
  auto format(const paceline::Generation& generation, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(
        fmt::format("g{}.{}", generation.start, generation.counter), context);
  }
};
