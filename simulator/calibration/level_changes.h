// Defines LevelChanges: where a noisy series goes over to another level for long.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace paceline::simulator {

// Indices at which another level begins, rising; none where all of it is one.
//
// Optimal partitioning (Killick, Fearnhead, Eckley, "Optimal Detection of Changepoints With a
// Linear Computational Cost", 2012): of all ways to cut the series into parts of four values at
// least, the one with the least sum of squared differences from the parts' means, a cut counting as
// kCutVariances of the noise's variance, which is half the mean squared difference of neighbours.
// Cuts between means that differ by less than kLevelStep are then taken back. Time and memory grow
// with the square of the values at worst.
std::vector<size_t> LevelChanges(std::span<const double> values);

inline constexpr double kLevelStep = 0.25;  // Of logarithms: steps 1.28 times as long.
inline constexpr double kCutVariances = 25;

}  // namespace paceline::simulator
