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

// From 1 to 0, along half a cosine.
double HalfCosine(double fraction) { return (1 + std::cos(std::numbers::pi * fraction)) / 2; }

double StableDecay(const ScheduleOptions& options, double committed) {
  const double total = static_cast<double>(options.total_samples);
  const double begin = std::max(WarmupSamples(options), total * (1 - options.decay_share));
  const double done = std::clamp((committed - begin) / (total - begin), 0.0, 1.0);
  return 1 - (1 - options.final_factor) * done;
}

// A step is `global_batch` samples.
double OneCycle(const ScheduleOptions& options, double committed) {
  const double step = static_cast<double>(options.global_batch);
  const double total = static_cast<double>(options.total_samples);
  const double peak = std::max(0.0, options.peak_share * total - step);
  const double start = 1 / options.start_divisor;
  if (committed < peak) return 1 + (start - 1) * HalfCosine(committed / peak);
  const double end = start / options.end_divisor;
  const double length = total - step - peak;
  const double done = length > 0 ? std::min(1.0, (committed - peak) / length) : 1;
  return end + (1 - end) * HalfCosine(done);
}

// Of the period that it is in.
double FractionOfPeriod(const ScheduleOptions& options, double since_warmup) {
  double period = static_cast<double>(options.period_samples);
  if (options.period_factor == 1) return std::fmod(since_warmup, period) / period;
  while (since_warmup >= period) {
    since_warmup -= period;
    period *= static_cast<double>(options.period_factor);
  }
  return since_warmup / period;
}

bool HasEnd(ScheduleKind kind) {
  return kind != ScheduleKind::kConstant && kind != ScheduleKind::kStep &&
         kind != ScheduleKind::kCosineRestarts;
}

Status ValidateShapes(const ScheduleOptions& options) {
  if (!(options.power > 0 && std::isfinite(options.power)))
    return InvalidArgument("power must be finite and above 0: got {}", options.power);
  if (!(options.decay_share > 0 && options.decay_share <= 1)) {
    return InvalidArgument("decay share must be above 0 and at most 1: got {}",
                           options.decay_share);
  }
  if (!(options.peak_share > 0 && options.peak_share < 1))
    return InvalidArgument("peak share must be between 0 and 1: got {}", options.peak_share);
  for (const double divisor : {options.start_divisor, options.end_divisor}) {
    if (!(divisor >= 1 && std::isfinite(divisor)))
      return InvalidArgument("divisors must be finite and at least 1: got {}", divisor);
  }
  if (options.period_factor == 0) return InvalidArgument("period factor must be above 0: got 0");
  return OkStatus();
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
  PACELINE_RETURN_IF_ERROR(ValidateShapes(options));
  if (options.kind == ScheduleKind::kStep) return ValidateStep(options);
  if (options.kind == ScheduleKind::kCosineRestarts && options.period_samples == 0)
    return InvalidArgument("period samples must be above 0: got 0");
  if (HasEnd(options.kind) &&
      static_cast<double>(options.total_samples) <= WarmupSamples(options)) {
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
    case ScheduleKind::kCosine:
      return options.base * (f + (1 - f) * HalfCosine(FractionDone(options, committed_samples)));
    case ScheduleKind::kLinear:
      return options.base * (1 - (1 - f) * FractionDone(options, committed_samples));
    case ScheduleKind::kPolynomial: {
      const double left = 1 - FractionDone(options, committed_samples);
      return options.base * (f + (1 - f) * std::pow(left, options.power));
    }
    case ScheduleKind::kStableDecay:
      return options.base * StableDecay(options, committed);
    case ScheduleKind::kOneCycle:
      return options.base * OneCycle(options, committed);
    case ScheduleKind::kCosineRestarts: {
      const double done = FractionOfPeriod(options, committed - warmup);
      return options.base * (f + (1 - f) * HalfCosine(done));
    }
    case ScheduleKind::kStep: {
      const double falls = static_cast<double>(committed_samples / options.step_samples);
      return options.base * std::max(f, std::pow(options.step_factor, falls));
    }
  }
  return options.base;
}

}  // namespace paceline::optim
