// Defines Draws: chance that depends on nothing but a seed and a name, so that a soak can be played
// again.
#pragma once

#include <cstdint>
#include <string_view>

namespace paceline::soak {

// A stream of numbers of its own for each (seed, name): drawing from one moves no other. A value.
class Draws {
 public:
  Draws(uint64_t seed, std::string_view name);

  double Share();                             // Uniform in [0, 1).
  uint64_t Below(uint64_t count);             // Uniform in 0..count-1; count is at least 1.
  double Between(double least, double most);  // Uniform.
  // Each factor of two is as likely as the next: many short ones, some long ones.
  double BetweenByFactor(double least, double most);

 private:
  uint64_t Next();

  uint64_t state_;
};

}  // namespace paceline::soak
