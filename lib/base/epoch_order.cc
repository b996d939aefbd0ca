#include "lib/base/epoch_order.h"

#include <limits>
#include <numeric>
#include <utility>

#include "lib/base/check.h"

namespace paceline {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
constexpr uint64_t kOther = 0xbf58476d1ce4e5b9;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t SplitMix64::Next() { return Mix(state_ += kGolden); }

uint64_t SplitMix64::Below(uint64_t bound) {
  const uint64_t excess =
      (std::numeric_limits<uint64_t>::max() % bound + 1) % bound;  // 2^64 mod bound
  uint64_t number = Next();
  while (number > std::numeric_limits<uint64_t>::max() - excess) number = Next();
  return number % bound;
}

double SplitMix64::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

EpochOrder::EpochOrder(uint64_t samples, uint64_t seed) : samples_(samples), seed_(seed) {
  PACELINE_CHECK(samples <= std::numeric_limits<uint32_t>::max(), "{} samples", samples);
}

std::span<const uint32_t> EpochOrder::Epoch(uint64_t epoch) {
  if (cached_[0].is_filled && cached_[0].epoch == epoch) return cached_[0].order;
  std::swap(cached_[0], cached_[1]);
  Cached& cached = cached_[0];
  if (cached.is_filled && cached.epoch == epoch) return cached.order;

  cached.epoch = epoch;
  cached.is_filled = true;
  cached.order.resize(samples_);
  std::iota(cached.order.begin(), cached.order.end(), 0u);
  SplitMix64 random(Mix(seed_ + kGolden) ^ Mix(epoch + kOther));
  for (uint64_t i = samples_; i > 1; --i) {
    std::swap(cached.order[i - 1], cached.order[random.Below(i)]);
  }
  return cached.order;
}

}  // namespace paceline
