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

struct AdagradScalars {
  float gradient_scale = 1;
  float weight_decay = 0;
  float learning_rate = 0;  // Decayed.
  float epsilon = 0;
};

void AdagradKernel(const float* current, const float* sum, size_t count,
                   const AdagradScalars& scalars, float* squares, float* next);

struct LambScalars {
  float gradient_scale = 1;
  float weight_decay = 0;
  float beta1 = 0;
  float first_weight = 0;  // 1 - beta1
  float beta2 = 0;
  float second_weight = 0;           // 1 - beta2
  float first_correction = 1;        // 1 / (1 - beta1^step)
  float second_correction_root = 1;  // sqrt(1 - beta2^step)
  float epsilon = 0;
  float learning_rate = 0;
};

void LambKernel(const float* current, const float* sum, size_t count, const LambScalars& scalars,
                float* exp_avg, float* exp_avg_sq, float* next);
// What LambKernel would multiply the rate with; leaves the moments alone.
void LambUpdateKernel(const float* current, const float* sum, size_t count,
                      const LambScalars& scalars, const float* exp_avg, const float* exp_avg_sq,
                      float* updates);

// Adds the squares of values to so many sums in turn, so that they can be added side by side.
inline constexpr size_t kSquareSums = 16;
void AddSquares(const float* values, size_t count, double* sums);

struct LionScalars {
  float gradient_scale = 1;
  float shrink = 1;  // 1 - learning rate x weight decay
  float learning_rate = 0;
  float beta1 = 0;
  float first_weight = 0;  // 1 - beta1
  float beta2 = 0;
  float second_weight = 0;  // 1 - beta2
};

void LionKernel(const float* current, const float* sum, size_t count, const LionScalars& scalars,
                float* exp_avg, float* next);

}  // namespace paceline::optim
