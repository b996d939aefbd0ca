// Declares the loops over a slice. Arrays do not overlap; results are the same bits on every
// instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::store {

// sum += weight x values. Spans are of equal size.
void AddWeighted(std::span<const float> values, float weight, std::span<float> sum);
// sum = 0 + weight x values: the bits of AddWeighted onto zeros, without reading `sum`.
void SetWeighted(std::span<const float> values, float weight, std::span<float> sum);
// average += share x (values - average), or from the other end where `share` is half or more:
// torch.lerp. What is equal stays so.
void Lerp(std::span<const float> values, float share, std::span<float> average);
// quotient = values / divisor.
void Divide(std::span<const float> values, float divisor, std::span<float> quotient);
// copy = values, past the cache: for what is not read again soon. Whoever learns of it through a
// lock or an atomic sees it.
void StreamCopy(std::span<const float> values, std::span<float> copy);
// largest = max(largest, values).
void KeepLargest(std::span<const int64_t> values, std::span<int64_t> largest);

// The upper halves of float32, rounded to the nearest, ties to even: what is too large becomes
// infinite, infinite stays so, and no number stays none.
void RoundToBfloat16(std::span<const float> values, std::span<uint16_t> rounded);
void WidenBfloat16(std::span<const uint16_t> rounded, std::span<float> values);

// Sum of squares in float64. Not finite exactly if one of `values` is not: no sum of 2^60 squares
// of float32 overflows.
//
// Order: element i is added to lane i mod 16, then lane l to lane l - 8, l - 4, l - 2, l - 1 (a
// tree over halves).
double SquaredNorm(std::span<const float> values);

}  // namespace paceline::store
