#include "lib/base/next_ranges.h"

#include <algorithm>

namespace paceline {

std::optional<NextRanges::Run> NextRanges::RunOf(std::span<const EpochRange> ranges) const {
  if (ranges.empty()) return std::nullopt;
  Run run{ranges[0].epoch * samples_ + ranges[0].begin, 0};
  for (const EpochRange& range : ranges) {
    if (range.epoch * samples_ + range.begin != run.begin + run.size || range.end < range.begin)
      return std::nullopt;
    run.size += range.end - range.begin;
  }
  return run;
}

std::optional<NextRanges::Run> NextRanges::Expected(uint64_t ahead) const {
  if (!last_ || !before_ || last_->begin <= before_->begin) return std::nullopt;
  return Run{last_->begin + ahead * (last_->begin - before_->begin), last_->size};
}

void NextRanges::See(std::span<const EpochRange> ranges) {
  const std::optional<Run> run = RunOf(ranges);
  right_in_a_row_ = run && run == Expected() ? right_in_a_row_ + 1 : 0;
  before_ = last_;
  last_ = run;
}

std::vector<EpochRange> NextRanges::Guess(uint64_t ahead) const {
  const std::optional<Run> expected = Expected(ahead);
  if (!expected || right_in_a_row_ < kRightToTrust) return {};
  std::vector<EpochRange> ranges;
  const uint64_t end = expected->begin + expected->size;
  for (uint64_t at = expected->begin; at < end;) {
    const uint64_t epoch = at / samples_;
    const uint64_t until = std::min(end, (epoch + 1) * samples_);
    ranges.push_back({epoch, at - epoch * samples_, until - epoch * samples_});
    at = until;
  }
  return ranges;
}

}  // namespace paceline
