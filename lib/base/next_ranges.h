// Defines NextRanges, which guesses the samples of a worker's next steps from those of its last
// ones.
//
// Leases are cut from the front of an epoch's order. Where workers take turns and none gives
// anything back, one's next lease lies as far behind its last one as that did behind the one
// before. Where they do not, guesses are wrong, and then none is made until two would have been
// right: to prepare the wrong samples costs time that somebody computes in.
//
// Example:
//   NextRanges next(/*samples=*/1000);
//   next.See({{0, 0, 32}});
//   next.See({{0, 64, 96}});
//   next.See({{0, 128, 160}});
//   next.See({{0, 192, 224}});
//   next.Guess();   // {{0, 256, 288}}
//   next.Guess(2);  // {{0, 320, 352}}
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/epoch_range.h"

namespace paceline {

// Pure.
class NextRanges {
 public:
  // Of an epoch; at least 1.
  explicit NextRanges(uint64_t samples) : samples_(samples) {}

  // A step is made of these.
  void See(std::span<const EpochRange> ranges);
  // Of the next one, or of that which comes `ahead` steps behind the last one; empty where it is
  // not to be guessed.
  std::vector<EpochRange> Guess(uint64_t ahead = 1) const;

 private:
  // Positions of all epochs, one behind the other: [begin, begin + size).
  struct Run {
    uint64_t begin = 0;
    uint64_t size = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };
  // Nothing if they are more than one run.
  std::optional<Run> RunOf(std::span<const EpochRange> ranges) const;
  std::optional<Run> Expected(uint64_t ahead = 1) const;

  static constexpr uint32_t kRightToTrust = 2;

  const uint64_t samples_;
  std::optional<Run> last_;
  std::optional<Run> before_;
  uint32_t right_in_a_row_ = 0;  // Guesses, made or not.
};

}  // namespace paceline
