#include "simulator/model/computing.h"

#include <algorithm>
#include <utility>

namespace paceline::simulator {

Computing::Computing(ComputeModel model, uint64_t seed, uint64_t worker)
    : model_(std::move(model)),
      jitter_(seed, "jitter", worker),
      spike_(seed, "spike", worker),
      phase_(seed, "phase", worker) {
  if (model_.slow_phases) phase_ends_ = model_.slow_phases->fast_seconds * phase_.Exponential();
}

Duration Computing::Step(Time now, uint32_t samples) {
  double change = 1;
  const Distribution* jitter = &model_.jitter;
  for (const SpeedChange& one : model_.changes) {
    if (ToSeconds(now.time_since_epoch()) < one.at_seconds) break;
    change = one.factor;
    jitter = one.jitter ? &*one.jitter : &model_.jitter;
  }
  double seconds =
      model_.fixed_seconds + std::max(samples, model_.least_samples) * model_.per_sample_seconds;
  seconds *= Draw(*jitter, jitter_) / model_.speed;
  // Drawn always, so that arms that differ in it meet the same chances.
  if (spike_.Uniform() < model_.spike_probability) seconds *= model_.spike_factor;
  if (model_.slow_phases) seconds *= PhaseAt(now);
  return Seconds(seconds * change);
}

std::optional<double> Computing::CpuShare(Time now) {
  if (!model_.slow_phases) return std::nullopt;
  return std::min(1 / PhaseAt(now), 1.0);
}

double Computing::PhaseAt(Time now) {
  const SlowPhases& phases = *model_.slow_phases;
  while (phase_ends_ <= ToSeconds(now.time_since_epoch())) {
    is_slow_ = !is_slow_;
    phase_ends_ += (is_slow_ ? phases.slow_seconds : phases.fast_seconds) * phase_.Exponential();
  }
  return is_slow_ ? phases.factor : 1;
}

}  // namespace paceline::simulator
