#include "lib/coordination/ledgers/overtaken.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace paceline::coordination {

using protocol::SampleRange;

namespace {

// The first part of the range that the set holds; empty if there is none.
SampleRange FirstHeld(const IntervalSet& set, const SampleRange& range) {
  auto at = set.intervals().upper_bound(range.begin);
  if (at != set.intervals().begin() && std::prev(at)->second > range.begin) --at;
  if (at == set.intervals().end() || at->first >= range.end)
    return {range.epoch, range.end, range.end};
  return {range.epoch, std::max(range.begin, at->first), std::min(range.end, at->second)};
}

}  // namespace

void Overtaken::Add(WorkerId worker, const SampleRange& range) {
  late_.insert(worker);
  IntervalSet& set = epochs_[range.epoch];
  for (SampleRange left = range; left.size() > 0;) {
    const SampleRange held = FirstHeld(set, left);
    set.Add(left.begin, held.begin);
    left.begin = held.end;
  }
}

void Overtaken::Counted(WorkerId worker, const SampleRange& range) {
  late_.erase(worker);
  const auto epoch = epochs_.find(range.epoch);
  if (epoch == epochs_.end()) return;
  for (SampleRange left = range; left.size() > 0;) {
    const SampleRange held = FirstHeld(epoch->second, left);
    epoch->second.Take(held.begin, held.end);
    left.begin = held.end;
  }
  if (epoch->second.empty()) epochs_.erase(epoch);
}

SampleRange Overtaken::FirstOther(const SampleRange& range) const {
  const auto epoch = epochs_.find(range.epoch);
  if (epoch == epochs_.end()) return range;
  SampleRange other = range;
  while (other.size() > 0) {
    const SampleRange held = FirstHeld(epoch->second, other);
    if (held.begin > other.begin) return {range.epoch, other.begin, held.begin};
    other.begin = held.end;
  }
  return other;
}

std::string Overtaken::Describe() const {
  std::string text;
  for (const auto& [number, set] : epochs_) {
    for (const auto& [begin, end] : set.intervals())
      text += fmt::format("|overtaken {}:{}-{}", number, begin, end);
  }
  for (const WorkerId worker : late_) text += fmt::format("|was late {}", worker);
  return text;
}

}  // namespace paceline::coordination
