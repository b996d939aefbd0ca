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

PACELINE_KERNEL void AdagradKernel(const float* current, const float* sum, size_t count,
                                   const AdagradScalars& scalars, float* squares, float* next) {
  const AdagradScalars s = scalars;
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const float parameter = current[i];
    const float gradient = s.gradient_scale * sum[i] + s.weight_decay * parameter;
    const float square = squares[i] + gradient * gradient;
    squares[i] = square;
    next[i] = parameter - s.learning_rate * gradient / (std::sqrt(square) + s.epsilon);
  }
}

PACELINE_KERNEL void LambKernel(const float* current, const float* sum, size_t count,
                                const LambScalars& scalars, float* exp_avg, float* exp_avg_sq,
                                float* next) {
  const LambScalars s = scalars;
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const float gradient = s.gradient_scale * sum[i];
    const float first = s.beta1 * exp_avg[i] + s.first_weight * gradient;
    const float second = s.beta2 * exp_avg_sq[i] + s.second_weight * gradient * gradient;
    exp_avg[i] = first;
    exp_avg_sq[i] = second;
    const float divisor = std::sqrt(second) / s.second_correction_root + s.epsilon;
    const float update = first * s.first_correction / divisor + s.weight_decay * current[i];
    next[i] = current[i] - s.learning_rate * update;
  }
}

PACELINE_KERNEL void LambUpdateKernel(const float* current, const float* sum, size_t count,
                                      const LambScalars& scalars, const float* exp_avg,
                                      const float* exp_avg_sq, float* updates) {
  const LambScalars s = scalars;
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const float gradient = s.gradient_scale * sum[i];
    const float first = s.beta1 * exp_avg[i] + s.first_weight * gradient;
    const float second = s.beta2 * exp_avg_sq[i] + s.second_weight * gradient * gradient;
    const float divisor = std::sqrt(second) / s.second_correction_root + s.epsilon;
    updates[i] = first * s.first_correction / divisor + s.weight_decay * current[i];
  }
}

PACELINE_KERNEL void AddSquares(const float* values, size_t count, double* sums) {
  const size_t whole = count - count % kSquareSums;
  for (size_t i = 0; i < whole; i += kSquareSums) {
    PACELINE_VECTOR_LOOP
    for (size_t j = 0; j < kSquareSums; ++j) {
      const double value = values[i + j];
      sums[j] += value * value;
    }
  }
  for (size_t i = whole; i < count; ++i) {
    const double value = values[i];
    sums[i - whole] += value * value;
  }
}

PACELINE_KERNEL void LionKernel(const float* current, const float* sum, size_t count,
                                const LionScalars& scalars, float* exp_avg, float* next) {
  const LionScalars s = scalars;
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const float gradient = s.gradient_scale * sum[i];
    const float momentum = exp_avg[i];
    const float update = s.beta1 * momentum + s.first_weight * gradient;
    exp_avg[i] = s.beta2 * momentum + s.second_weight * gradient;
    const float up = update > 0 ? s.learning_rate : 0.0f;
    const float down = update < 0 ? s.learning_rate : 0.0f;
    next[i] = current[i] * s.shrink - (up - down);
  }
}

}  // namespace paceline::optim
