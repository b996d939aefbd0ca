// Defines Computing: how long a worker's steps take, by its speed, its batch and chance.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/time.h"
#include "simulator/kernel/distribution.h"
#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {

// A worker that is slow for a while now and then: two states, each for an exponential time.
struct SlowPhases {
  double factor = 4;         // Steps begun in a slow one take so many times as long.
  double fast_seconds = 60;  // Mean length of a fast one, which comes first...
  double slow_seconds = 20;  // ...and of a slow one.
};

// From `at_seconds` on, steps begun take so many times as long, with that jitter, if there is one,
// and else the model's; in the place of the change before.
struct SpeedChange {
  double at_seconds = 0;
  double factor = 1;
  std::optional<Distribution> jitter = std::nullopt;
};

// A step of b samples takes
//   (fixed_seconds + max(b, least_samples) x per_sample_seconds) / speed x jitter x phase x change,
// and, by that chance, spike_factor times as long.
struct ComputeModel {
  double fixed_seconds = 0;
  double per_sample_seconds = 0.01;
  uint32_t least_samples = 0;  // A GPU is not faster with fewer.
  double speed = 1;
  Distribution jitter = Constant{1};
  double spike_probability = 0;
  double spike_factor = 10;
  std::optional<SlowPhases> slow_phases;
  std::vector<SpeedChange> changes;  // By their times.
};

// One worker's. Draws from streams of its own, "jitter", "spike" and "phase", which `worker`
// numbers: how long its n-th step takes depends on when it begins only through phases and changes.
// The model is valid.
class Computing {
 public:
  Computing(ComputeModel model, uint64_t seed, uint64_t worker);

  // Of the step that begins now; `now` never decreases.
  Duration Step(Time now, uint32_t samples);

  // What slow phases leave of its processor to a step that begins now, 0 to 1; nothing is known
  // where there are none. As Step, of a `now` that never decreases.
  std::optional<double> CpuShare(Time now);

 private:
  double PhaseAt(Time now);

  ComputeModel model_;
  RandomStream jitter_, spike_, phase_;
  bool is_slow_ = false;
  double phase_ends_ = 0;  // Seconds.
};

}  // namespace paceline::simulator
