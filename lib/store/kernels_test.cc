#include "lib/store/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

float FromBits(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// To the nearest of the two neighbours, by what the distances are; ties to the even one.
uint16_t ReferenceRounded(uint32_t bits) {
  const uint32_t below = bits >> 16;
  const uint32_t rest = bits & 0xffff;
  const bool is_up = rest > 0x8000 || (rest == 0x8000 && below % 2 == 1);
  return static_cast<uint16_t>(below + (is_up ? 1 : 0));
}

TEST(Bfloat16Test, RoundsToTheNearestEven) {
  std::vector<uint32_t> bits;
  for (uint32_t upper = 0; upper < 0x10000; upper += 7) {
    for (const uint32_t rest : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      bits.push_back(upper << 16 | rest);
  }
  std::erase_if(bits, [](uint32_t each) { return std::isnan(FromBits(each)); });
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * sizeof(float));
  std::vector<uint16_t> rounded(bits.size());
  RoundToBfloat16(values, rounded);
  for (size_t i = 0; i < bits.size(); ++i)
    ASSERT_EQ(rounded[i], ReferenceRounded(bits[i])) << std::hex << bits[i];
}

TEST(Bfloat16Test, WhatIsNotFiniteStaysSoAndWhatIsTooLargeBecomesInfinite) {
  const std::vector<float> values{std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  FromBits(0x7f800001),  // A NaN that is all in the lower half.
                                  FromBits(0xffffffff),
                                  std::numeric_limits<float>::max(),
                                  0x1.fep127f,
                                  0x1.fefffep127f,
                                  0x1.ffp127f,
                                  -0.0f};
  std::vector<uint16_t> rounded(values.size());
  std::vector<float> back(values.size());
  RoundToBfloat16(values, rounded);
  WidenBfloat16(rounded, back);
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(back[0], infinite);
  EXPECT_EQ(back[1], -infinite);
  EXPECT_TRUE(std::isnan(back[2]));
  EXPECT_TRUE(std::isnan(back[3]));
  EXPECT_EQ(back[4], infinite);
  EXPECT_EQ(back[5], 0x1.fep127f);
  EXPECT_EQ(back[6], 0x1.fep127f);
  EXPECT_EQ(back[7], infinite);
  EXPECT_TRUE(back[8] == 0 && std::signbit(back[8]));
}

TEST(Bfloat16Test, WhatIsRoundedOnceStaysAsItIs) {
  std::vector<uint16_t> all(0x10000), again(all.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> values(all.size());
  WidenBfloat16(all, values);
  RoundToBfloat16(values, again);
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(values[i])) continue;
    ASSERT_EQ(again[i], all[i]);
  }
}

}  // namespace
}  // namespace paceline::store
