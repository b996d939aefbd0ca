// Defines RandomStream: numbers by chance of one cause, the same on every machine.
//
// Each cause has a stream of its own, named after it, so that what one thing draws changes nothing
// of what another does: two arms of an experiment meet the same delays.
//
// Example:
//   RandomStream delays(seed, "jitter", worker);
//   delays.Uniform()   // [0, 1)
#pragma once

#include <cstdint>
#include <string_view>

namespace paceline::simulator {

// SplitMix64 (Steele, Lea, Flood 2014), whose start is a hash of seed, name and number. A value: a
// copy draws the same.
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name, uint64_t number = 0);

  uint64_t Next();
  double Uniform();      // [0, 1), multiples of 2^-53.
  double Exponential();  // Of mean 1.
  double Normal();       // Of mean 0 and variance 1 (Box, Muller 1958).
  // Of that shape > 0 and mean `shape` (Marsaglia, Tsang 2000).
  double Gamma(double shape);

 private:
  uint64_t state_;
};

}  // namespace paceline::simulator
