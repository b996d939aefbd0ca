// Defines EpochOrder: which sample stands at which position of a shuffled epoch.
//
// Every worker computes the same order from (seed, epoch, number of samples), so that a range of
// positions names the same samples everywhere and nobody sends a permutation.
//
// The algorithm is fixed, for orders are compared across versions, compilers and machines:
//   generator    SplitMix64 (Steele, Lea, Flood 2014): state += 0x9e3779b97f4a7c15, then its
//   finaliser `mix` first state  mix(seed + 0x9e3779b97f4a7c15) ^ mix(epoch + 0xbf58476d1ce4e5b9)
//   below(n)     the next number, drawn again while it is >= 2^64 - 2^64 mod n, modulo n
//   shuffle      Fisher-Yates: for i = N-1 down to 1, exchange positions i and below(i + 1)
//
// Example:
//   EpochOrder order(1437, /*seed=*/1);
//   std::span<const uint32_t> samples = order.Epoch(0).subspan(begin, end - begin);
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline {

// SplitMix64: a small generator whose numbers are the same everywhere.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t state) : state_(state) {}
  uint64_t Next();
  uint64_t Below(uint64_t bound);  // Uniform in [0, bound); bound >= 1.
  double Uniform();                // Uniform in [0, 1), 53 bits.

 private:
  uint64_t state_;
};

// One owner at a time.
class EpochOrder {
 public:
  // At most 2^32 - 1 samples.
  EpochOrder(uint64_t samples, uint64_t seed);

  // The sample at each position. Computed on first use; the two epochs asked for last are kept, and
  // a span is valid while its epoch is one of them.
  std::span<const uint32_t> Epoch(uint64_t epoch);

  uint64_t samples() const { return samples_; }

 private:
  struct Cached {
    uint64_t epoch = 0;
    bool is_filled = false;
    std::vector<uint32_t> order;
  };

  uint64_t samples_;
  uint64_t seed_;
  std::array<Cached, 2> cached_;  // The one asked for last comes first.
};

}  // namespace paceline
