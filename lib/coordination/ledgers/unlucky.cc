#include "lib/coordination/ledgers/unlucky.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::coordination {
namespace {

using Intervals = std::vector<std::pair<uint64_t, uint64_t>>;

// The parts of [begin, end) that the set holds.
Intervals Common(const IntervalSet& set, uint64_t begin, uint64_t end) {
  Intervals common;
  auto at = set.intervals().upper_bound(begin);
  if (at != set.intervals().begin()) --at;
  for (; at != set.intervals().end() && at->first < end; ++at) {
    const uint64_t from = std::max(begin, at->first), to = std::min(end, at->second);
    if (from < to) common.emplace_back(from, to);
  }
  return common;
}

// The parts of [begin, end) that it does not hold.
Intervals Missing(const IntervalSet& set, uint64_t begin, uint64_t end) {
  Intervals missing;
  for (const auto& [from, to] : Common(set, begin, end)) {
    if (begin < from) missing.emplace_back(begin, from);
    begin = to;
  }
  if (begin < end) missing.emplace_back(begin, end);
  return missing;
}

}  // namespace

void Unlucky::Interrupted(const protocol::SampleRange& range) {
  Epoch& epoch = epochs_[range.epoch];
  for (const auto& [begin, end] : Missing(epoch.twice, range.begin, range.end)) {
    const Intervals again = Common(epoch.once, begin, end);
    for (const auto& [from, to] : Missing(epoch.once, begin, end)) epoch.once.Add(from, to);
    for (const auto& [from, to] : again) {
      epoch.once.Take(from, to);
      epoch.twice.Add(from, to);
    }
  }
}

bool Unlucky::Holds(const protocol::SampleRange& range) const {
  const auto epoch = epochs_.find(range.epoch);
  return epoch != epochs_.end() && epoch->second.twice.Overlaps(range.begin, range.end);
}

std::string Unlucky::Describe() const {
  std::string text;
  for (const auto& [number, epoch] : epochs_) {
    for (const auto& [begin, end] : epoch.once.intervals())
      text += fmt::format("|once {}:{}-{}", number, begin, end);
    for (const auto& [begin, end] : epoch.twice.intervals())
      text += fmt::format("|unlucky {}:{}-{}", number, begin, end);
  }
  return text;
}

}  // namespace paceline::coordination
