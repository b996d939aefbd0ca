// Defines Chance, for tests of batch sizing: numbers by chance, the same in every run.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/sync/contract/event.h"

namespace paceline::sync::testing {

class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  uint64_t Below(uint64_t end) { return Next() % end; }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // [0, 1)
  double Normal() {
    return std::sqrt(-2 * std::log(1 - Uniform())) * std::cos(6.283185307179586 * Uniform());
  }

 private:
  uint64_t state_;
};

inline uint64_t Sum(const std::vector<uint32_t>& parts) {
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0});
}

// A push of `samples` that took so many seconds of computing.
inline PushArrived PushOf(WorkerId worker, uint32_t samples, double seconds) {
  PushArrived push{.worker = worker, .sequence = Sequence(1)};
  push.samples = samples;
  push.timing.compute = Seconds(seconds);
  return push;
}

}  // namespace paceline::sync::testing
