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

enum class ScheduleKind { kConstant, kCosine, kStep, kLinear };

struct ScheduleOptions {
  double base = 0.1;          // The rate after the warm-up, before any decay.
  uint64_t warmup_steps = 0;  // Counted in global batches.
  uint64_t global_batch = 1;  // Samples of a step; only turns warm-up steps into samples.
  ScheduleKind kind = ScheduleKind::kConstant;
  uint64_t total_samples = 0;  // kCosine and kLinear end here and stay; beyond the warm-up.
  double final_factor =
      0;  // [0, 1]; times `base` is the end of kCosine and kLinear, the least of kStep.
  uint64_t step_samples = 0;  // kStep: after each so many samples, warm-up included...
  double step_factor = 0.1;   // ...times this, (0, 1].
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
double LearningRate(const ScheduleOptions& options, uint64_t committed_samples);

}  // namespace paceline::optim
