#include "lib/optim/kernels.h"

#include <cmath>

#include "lib/optim/dispatch.h"

namespace paceline::optim {

PACELINE_KERNEL void SgdKernel(const float* current, const float* sum, size_t count,
                               const SgdScalars& scalars, float* next) {
  const SgdScalars s = scalars;
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const float parameter = current[i];
    const float gradient = s.gradient_scale * sum[i] + s.weight_decay * parameter;
    next[i] = parameter - s.learning_rate * gradient;
  }
}

PACELINE_KERNEL void SgdMomentumKernel(const float* current, const float* sum, size_t count,
                                       const SgdScalars& scalars, float* momentum_buffer,
                                       float* next) {
  const SgdScalars s = scalars;
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const float parameter = current[i];
    const float gradient = s.gradient_scale * sum[i] + s.weight_decay * parameter;
    const float buffer = s.momentum * momentum_buffer[i] + s.gradient_share * gradient;
    momentum_buffer[i] = buffer;
    next[i] = parameter - s.learning_rate * (s.direct_share * gradient + s.buffer_share * buffer);
  }
}

PACELINE_KERNEL void AdamWKernel(const float* current, const float* sum, size_t count,
                                 const AdamWScalars& scalars, float* exp_avg, float* exp_avg_sq,
                                 float* next) {
  const AdamWScalars s = scalars;
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const float gradient = s.gradient_scale * sum[i];
    const float first = exp_avg[i] + s.first_weight * (gradient - exp_avg[i]);
    const float second = s.beta2 * exp_avg_sq[i] + s.second_weight * gradient * gradient;
    exp_avg[i] = first;
    exp_avg_sq[i] = second;
    const float divisor = std::sqrt(second) / s.second_correction_root + s.epsilon;
    next[i] = current[i] * s.shrink - s.step_size * first / divisor;
  }
}

}  // namespace paceline::optim
