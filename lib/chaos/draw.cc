#include "lib/chaos/draw.h"

#include <cmath>

namespace paceline::chaos {
namespace {

// The mixing step of SplitMix64 (Steele, Lea, Flood 2014): each bit of the input moves half of the
// bits of the output.
uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

double DrawUniform(const Place& place) {
  const uint64_t bits = Mix(Mix(Mix(Mix(place.seed) ^ place.worker) ^ place.step) ^ place.delay);
  // 53 bits, and the middle of the interval that they name.
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

double DrawExponential(const Place& place) { return -std::log(DrawUniform(place)); }

}  // namespace paceline::chaos
