// Defines the chance of injected delays: numbers that depend on nothing but their place.
#pragma once

#include <cstdint>

namespace paceline::chaos {

// Where a number is drawn. Equal places give equal numbers in every process and on every machine;
// that is what lets two runs that compare schemes see the same delays.
struct Place {
  uint64_t seed = 0;
  uint64_t worker = 0;
  uint64_t step = 0;
  uint64_t delay = 0;  // Which of the manifest's delays asks.
};

// Uniform on (0, 1): never 0, never 1.
double DrawUniform(const Place& place);
// Exponential with mean 1.
double DrawExponential(const Place& place);

}  // namespace paceline::chaos
