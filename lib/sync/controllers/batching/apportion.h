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

// Parts that add up to `total`, each within its bounds, in proportion to `weights` (not negative,
// finite; all zero counts as all equal) where the bounds allow it: those whose fair part lies
// outside get the bound, the rest share the rest. Fractions go to the largest remainders, among
// equals to the first. Needs sum(lo) <= total <= sum(hi), as FitTotal gives it.
std::vector<uint32_t> Apportion(std::span<const double> weights, uint64_t total,
                                std::span<const Bounds> bounds);

}  // namespace paceline::sync
