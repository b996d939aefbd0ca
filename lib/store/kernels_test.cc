#include "lib/store/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::store {
namespace {

std::vector<float> Wave(size_t size) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i)
    values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)) * 3);
  return values;
}

// The order that kernels.h promises, in scalar code.
double ReferenceNorm(std::span<const float> values) {
  double lanes[16] = {};
  for (size_t i = 0; i < values.size(); ++i) {
    const volatile double square = static_cast<double>(values[i]) * static_cast<double>(values[i]);
    lanes[i % 16] += square;
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

TEST(SquaredNormTest, HasTheBitsOfItsPromisedOrderAtAnyLengthAndAlignment) {
  const std::vector<float> values = Wave(16400);
  for (const size_t size : {0, 1, 7, 15, 16, 17, 33, 1000, 16384}) {
    for (const size_t begin : {0, 1, 3, 16}) {
      const auto part = std::span<const float>(values).subspan(begin, size);
      EXPECT_EQ(SquaredNorm(part), ReferenceNorm(part)) << size << " from " << begin;
    }
  }
}

TEST(SquaredNormTest, IsFiniteExactlyIfAllValuesAre) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(16384, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(SquaredNorm(values)));
  for (const float bad : {infinity, -infinity, std::nanf("")}) {
    for (const size_t at : {0, 9, 16383}) {
      values.assign(16384, 1);
      values[at] = bad;
      EXPECT_FALSE(std::isfinite(SquaredNorm(values))) << bad << " at " << at;
    }
  }
}

TEST(WeightedTest, RoundsTheProductBeforeItAdds) {
  const std::vector<float> values = Wave(1003);
  std::vector<float> sum = Wave(1003), want = sum;
  std::reverse(sum.begin(), sum.end());
  want = sum;
  for (size_t i = 0; i < want.size(); ++i) {
    const volatile float product = 0.3f * values[i];
    want[i] += product;
  }
  AddWeighted(values, 0.3f, sum);
  EXPECT_EQ(sum, want);
}

TEST(WeightedTest, SettingHasTheBitsOfAddingToZeros) {
  std::vector<float> values = Wave(1003);
  values[5] = -0.0f;
  std::vector<float> added(1003), set(1003, 77);
  AddWeighted(values, 2, added);
  SetWeighted(values, 2, set);
  EXPECT_EQ(std::memcmp(added.data(), set.data(), added.size() * sizeof(float)), 0);
  EXPECT_FALSE(std::signbit(set[5]));
}

TEST(KeepLargestTest, TakesTheLargerOfEach) {
  std::vector<int64_t> largest = {1, -5, INT64_MIN, 7, 0};
  KeepLargest(std::vector<int64_t>{2, -6, INT64_MAX, 7, -1}, largest);
  EXPECT_EQ(largest, (std::vector<int64_t>{2, -5, INT64_MAX, 7, 0}));
}

TEST(KernelsTest, StreamCopyCopiesFromAndToAnywhere) {
  std::vector<float> from(300), to(300);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t shift = 0; shift < 5; ++shift) {
      for (const size_t size : {0, 1, 3, 4, 17, 250}) {
        std::fill(to.begin(), to.end(), 0.0f);
        StreamCopy(std::span(from).subspan(begin, size), std::span(to).subspan(shift, size));
        for (size_t i = 0; i < to.size(); ++i) {
          const bool is_within = i >= shift && i < shift + size;
          ASSERT_EQ(to[i], is_within ? from[begin + i - shift] : 0.0f) << begin << " " << shift;
        }
      }
    }
  }
}

}  // namespace
}  // namespace paceline::store
