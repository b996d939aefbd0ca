#include "lib/store/kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "lib/base/check.h"
#include "lib/optim/dispatch.h"

namespace paceline::store {
namespace {

constexpr size_t kLanes = 16;

// Vectors of the compiler: they keep lanes apart on every instruction set, where a plain loop over
// an array of lanes goes through memory.
typedef float FloatLanes __attribute__((vector_size(8 * sizeof(float))));
typedef double DoubleLanes __attribute__((vector_size(8 * sizeof(double))));

PACELINE_KERNEL void AddLoop(const float* values, size_t count, float weight, float* sum) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) sum[i] += weight * values[i];
}

// Adding to zero turns -0 into 0, as it does in AddLoop on zeros.
PACELINE_KERNEL void SetLoop(const float* values, size_t count, float weight, float* sum) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) sum[i] = 0.0f + weight * values[i];
}

PACELINE_KERNEL void LerpLoop(const float* values, size_t count, float share, float* average) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) average[i] += share * (values[i] - average[i]);
}

PACELINE_KERNEL void LerpBackLoop(const float* values, size_t count, float rest, float* average) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) average[i] = values[i] - (values[i] - average[i]) * rest;
}

PACELINE_KERNEL void DivideLoop(const float* values, size_t count, float divisor, float* quotient) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) quotient[i] = values[i] / divisor;
}

PACELINE_KERNEL void LargestLoop(const int64_t* values, size_t count, int64_t* largest) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) largest[i] = values[i] > largest[i] ? values[i] : largest[i];
}

PACELINE_KERNEL void RoundLoop(const uint32_t* bits, size_t count, uint16_t* rounded) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) {
    const uint32_t nearest = (bits[i] + 0x7fff + (bits[i] >> 16 & 1)) >> 16;
    const uint32_t quiet = bits[i] >> 16 | 0x40;
    rounded[i] = static_cast<uint16_t>((bits[i] & 0x7fffffff) > 0x7f800000 ? quiet : nearest);
  }
}

PACELINE_KERNEL void WidenLoop(const uint16_t* rounded, size_t count, uint32_t* bits) {
  PACELINE_VECTOR_LOOP
  for (size_t i = 0; i < count; ++i) bits[i] = static_cast<uint32_t>(rounded[i]) << 16;
}

// `lanes` has kLanes elements; whole rows of kLanes only.
PACELINE_KERNEL void SquareRows(const float* values, size_t rows, double* lanes) {
  DoubleLanes low = {}, high = {};
  for (size_t row = 0; row < rows; ++row, values += kLanes) {
    FloatLanes low_values, high_values;
    std::memcpy(&low_values, values, sizeof(low_values));
    std::memcpy(&high_values, values + 8, sizeof(high_values));
    const DoubleLanes low_wide = __builtin_convertvector(low_values, DoubleLanes);
    const DoubleLanes high_wide = __builtin_convertvector(high_values, DoubleLanes);
    low += low_wide * low_wide;
    high += high_wide * high_wide;
  }
  std::memcpy(lanes, &low, sizeof(low));
  std::memcpy(lanes + 8, &high, sizeof(high));
}

void CheckSizes(size_t got, size_t want) {
  PACELINE_CHECK(got == want, "sizes differ: {} and {}", got, want);
}

}  // namespace

void AddWeighted(std::span<const float> values, float weight, std::span<float> sum) {
  CheckSizes(values.size(), sum.size());
  AddLoop(values.data(), values.size(), weight, sum.data());
}

void SetWeighted(std::span<const float> values, float weight, std::span<float> sum) {
  CheckSizes(values.size(), sum.size());
  SetLoop(values.data(), values.size(), weight, sum.data());
}

void Lerp(std::span<const float> values, float share, std::span<float> average) {
  CheckSizes(values.size(), average.size());
  if (share < 0.5f) {
    LerpLoop(values.data(), values.size(), share, average.data());
  } else {
    LerpBackLoop(values.data(), values.size(), 1 - share, average.data());
  }
}

void Divide(std::span<const float> values, float divisor, std::span<float> quotient) {
  CheckSizes(values.size(), quotient.size());
  DivideLoop(values.data(), values.size(), divisor, quotient.data());
}

void StreamCopy(std::span<const float> values, std::span<float> copy) {
  CheckSizes(values.size(), copy.size());
  size_t i = 0;
#ifdef __SSE2__
  constexpr size_t kStep = sizeof(__m128) / sizeof(float);
  for (; i < values.size() && reinterpret_cast<uintptr_t>(copy.data() + i) % sizeof(__m128) != 0;
       ++i)
    copy[i] = values[i];
  for (; i + kStep <= values.size(); i += kStep)
    _mm_stream_ps(copy.data() + i, _mm_loadu_ps(values.data() + i));
  _mm_sfence();
#endif
  std::copy(values.begin() + i, values.end(), copy.begin() + i);
}

void RoundToBfloat16(std::span<const float> values, std::span<uint16_t> rounded) {
  CheckSizes(values.size(), rounded.size());
  RoundLoop(reinterpret_cast<const uint32_t*>(values.data()), values.size(), rounded.data());
}

void WidenBfloat16(std::span<const uint16_t> rounded, std::span<float> values) {
  CheckSizes(rounded.size(), values.size());
  WidenLoop(rounded.data(), rounded.size(), reinterpret_cast<uint32_t*>(values.data()));
}

void KeepLargest(std::span<const int64_t> values, std::span<int64_t> largest) {
  CheckSizes(values.size(), largest.size());
  LargestLoop(values.data(), values.size(), largest.data());
}

double SquaredNorm(std::span<const float> values) {
  double lanes[kLanes] = {};
  const size_t rows = values.size() / kLanes;
  SquareRows(values.data(), rows, lanes);
  for (size_t i = rows * kLanes; i < values.size(); ++i) {
    const double wide = values[i];
    lanes[i % kLanes] += wide * wide;
  }
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

}  // namespace paceline::store
