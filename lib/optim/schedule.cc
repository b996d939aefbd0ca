#include "lib/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace paceline::optim {
namespace {

double WarmupSamples(const ScheduleOptions& options) {
  return static_cast<double>(options.warmup_steps) * static_cast<double>(options.global_batch);
}

// Of the way from the warm-up's end to `total_samples`, in [0, 1].
double FractionDone(const ScheduleOptions& options, uint64_t committed_samples) {
  const double begin = WarmupSamples(options);
  const double length = static_cast<double>(options.total_samples) - begin;
  return std::clamp((static_cast<double>(committed_samples) - begin) / length, 0.0, 1.0);
}

Status ValidateStep(const ScheduleOptions& options) {
  if (options.step_samples == 0) return InvalidArgument("step samples must be above 0: got 0");
  if (!(options.step_factor > 0 && options.step_factor <= 1)) {
    return InvalidArgument("step factor must be above 0 and at most 1: got {}",
                           options.step_factor);
  }
  return OkStatus();
}

}  // namespace

Status Validate(const ScheduleOptions& options) {
  if (!(options.base > 0 && std::isfinite(options.base))) {
    return InvalidArgument("base learning rate must be finite and above 0: got {}", options.base);
  }
  if (options.global_batch == 0) return InvalidArgument("global batch must be above 0: got 0");
  if (!(options.final_factor >= 0 && options.final_factor <= 1)) {
    return InvalidArgument("final factor must be between 0 and 1: got {}", options.final_factor);
  }
  if (options.kind == ScheduleKind::kStep) return ValidateStep(options);
  const bool has_end =
      options.kind == ScheduleKind::kCosine || options.kind == ScheduleKind::kLinear;
  if (has_end && static_cast<double>(options.total_samples) <= WarmupSamples(options)) {
    return InvalidArgument("total samples must be above the warm-up's {}: got {}",
                           WarmupSamples(options), options.total_samples);
  }
  return OkStatus();
}

double LearningRate(const ScheduleOptions& options, uint64_t committed_samples) {
  const double committed = static_cast<double>(committed_samples);
  const double warmup = WarmupSamples(options);
  if (committed < warmup) {
    return options.base *
           std::min(1.0, (committed + static_cast<double>(options.global_batch)) / warmup);
  }
  const double f = options.final_factor;
  switch (options.kind) {
    case ScheduleKind::kConstant:
      return options.base;
    case ScheduleKind::kCosine: {
      const double angle = std::numbers::pi * FractionDone(options, committed_samples);
      return options.base * (f + (1 - f) * (1 + std::cos(angle)) / 2);
    }
    case ScheduleKind::kLinear:
      return options.base * (1 - (1 - f) * FractionDone(options, committed_samples));
    case ScheduleKind::kStep: {
      const double falls = static_cast<double>(committed_samples / options.step_samples);
      return options.base * std::max(f, std::pow(options.step_factor, falls));
    }
  }
  return options.base;
}

}  // namespace paceline::optim
