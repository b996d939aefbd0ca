// Declares the elementwise loops of the optimizers. Arrays are equal or do not overlap; results are
// the same bits on every instruction set.
#pragma once

#include <cstddef>

namespace paceline::optim {

struct SgdScalars {
  float gradient_scale = 1;
  float weight_decay = 0;
  float learning_rate = 0;
  float momentum = 0;        // Times the old momentum buffer...
  float gradient_share = 1;  // ...plus this times the gradient is the new one.
  float direct_share = 0;    // The update is this times the gradient...
  float buffer_share = 1;    // ...plus this times the new buffer.
};

void SgdKernel(const float* current, const float* sum, size_t count, const SgdScalars& scalars,
               float* next);
void SgdMomentumKernel(const float* current, const float* sum, size_t count,
                       const SgdScalars& scalars, float* momentum_buffer, float* next);

struct AdamWScalars {
  float gradient_scale = 1;
  float shrink = 1;        // 1 - learning rate x weight decay
  float first_weight = 0;  // 1 - beta1
  float beta2 = 0;
  float second_weight = 0;           // 1 - beta2
  float second_correction_root = 1;  // sqrt(1 - beta2^step)
  float epsilon = 0;
  float step_size = 0;  // learning rate / (1 - beta1^step)
};

void AdamWKernel(const float* current, const float* sum, size_t count, const AdamWScalars& scalars,
                 float* exp_avg, float* exp_avg_sq, float* next);

}  // namespace paceline::optim
