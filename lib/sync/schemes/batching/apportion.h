// Defines Apportion: a whole batch in parts by weight, within bounds, to the last sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::sync {

// How many samples one worker may be given; lo at least 1 and at most hi.
struct Bounds {
  uint32_t lo = 1;
  uint32_t hi = UINT32_MAX;
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// The number nearest to `total` that all the parts together can be.
// Lowers the least bounds where they ask for more than `total`: then nobody has more than an equal
// share as its least, and 1 where there are fewer samples than workers.
uint64_t FitTotal(uint64_t total, std::span<Bounds> bounds);

// Whom the samples go to that are left when all fair parts are rounded down.
enum class Leftovers {
  kLargestRemainders,  // Nearest to the fair parts; among equals the first.
  // Whoever is done with one more first, a weight being a speed: the slowest is as fast as whole
  // samples allow. One sample of a slow worker may be a tenth of a step.
  kFirstDone,
};

// Parts that add up to `total`, each within its bounds, in proportion to `weights` (not negative,
// finite; all zero counts as all equal) where the bounds allow it: those whose fair part lies
// outside get the bound, the rest share the rest. Needs sum(lo) <= total <= sum(hi), as FitTotal
// gives it.
std::vector<uint32_t> Apportion(std::span<const double> weights, uint64_t total,
                                std::span<const Bounds> bounds,
                                Leftovers leftovers = Leftovers::kLargestRemainders);

}  // namespace paceline::sync
