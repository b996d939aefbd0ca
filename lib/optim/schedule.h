// Defines LearningRate: the rate as a function of the samples committed so far.
//
// Samples, not steps: a run whose batches change, or that drops pushes, goes through the same
// schedule.
//
// Example:
//   ScheduleOptions options;
//   options.base = 0.1;
//   options.kind = ScheduleKind::kCosine;
//   options.total_samples = 20 * 60000;
//   LearningRate(options, 0)   // 0.1
#pragma once

#include <cstdint>

#include "lib/base/status.h"

namespace paceline::optim {

enum class ScheduleKind {
  kConstant,
  kCosine,
  kStep,
  kLinear,
  kPolynomial,
  kStableDecay,
  kOneCycle,
  kCosineRestarts
};

struct ScheduleOptions {
  double base = 0.1;          // The rate after the warm-up, before any decay.
  uint64_t warmup_steps = 0;  // Counted in global batches.
  uint64_t global_batch = 1;  // Samples of a step; only turns warm-up steps into samples.
  ScheduleKind kind = ScheduleKind::kConstant;
  // Where all kinds but kConstant, kStep and kCosineRestarts end and stay; beyond the warm-up.
  uint64_t total_samples = 0;
  // [0, 1]; times `base` is the end of kCosine, kLinear, kPolynomial and kStableDecay and of each
  // period of kCosineRestarts, and the least of kStep.
  double final_factor = 0;
  uint64_t step_samples = 0;    // kStep: after each so many samples, warm-up included...
  double step_factor = 0.1;     // ...times this, (0, 1].
  double power = 1;             // kPolynomial; > 0.
  double decay_share = 0.1;     // kStableDecay: of `total_samples`, its end; (0, 1].
  double peak_share = 0.3;      // kOneCycle: of `total_samples`, until the rate is `base`; (0, 1).
  double start_divisor = 25;    // kOneCycle, >= 1: `base` by this is the first rate...
  double end_divisor = 1e4;     // ...which by this, >= 1, is the last one.
  uint64_t period_samples = 0;  // kCosineRestarts: from the warm-up's end to the first restart.
  uint64_t period_factor = 1;   // kCosineRestarts, >= 1: how much longer each period is.
};

// InvalidArgument, naming the field, its value and what is right.
Status Validate(const ScheduleOptions& options);

// The rate for the commit that comes when `committed_samples` are committed. `options` are valid.
//
// Warm-up: step n of `warmup_steps`, counted from 1, has base x n / warmup_steps (linear between
// steps). Then, with p the fraction done of what lies between the warm-up's end and
// `total_samples`:
//   kConstant  base
//   kCosine    base x (f + (1 - f) x (1 + cos(pi p)) / 2)
//   kLinear    base x (1 - (1 - f) x p)
//   kStep      base x max(f, step_factor ^ floor(committed / step_samples))
//   kPolynomial      base x (f + (1 - f) x (1 - p) ^ power)
//   kStableDecay     base; in the last `decay_share` of `total_samples` (after the warm-up)
//   linearly
//                    to base x f
//   kOneCycle        base / start_divisor to base to base / start_divisor / end_divisor, along a
//                    half cosine each, the peak and the end one step early (torch's OneCycleLR,
//                    which counts steps from 0)
//   kCosineRestarts  as kCosine, with p the fraction done of the period
double LearningRate(const ScheduleOptions& options, uint64_t committed_samples);

}  // namespace paceline::optim
