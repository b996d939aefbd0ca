// Defines Roster: the workers that take part, by rank, with what is asked of all of them after each
// event kept as counts, so that an event costs the same whether there are three or ten thousand.
//
// Example:
//   roster.Change(member, [](Standing& standing) { --standing.owed; });
//   if (roster.counts().waited_for == 0) ...
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/sync/roster/member.h"

namespace paceline::sync {

// A value. References to members hold until the next Add or Remove.
class Roster {
 public:
  struct Counts {
    uint32_t busy = 0;        // Owe a push.
    uint32_t waited_for = 0;  // Of those, whose push the open round waits for...
    uint32_t silent = 0;      // ...or would, if they were not missing.
    uint32_t sat_out = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  // By ascending id: the rank is the index.
  std::vector<Member>& members() { return members_; }
  const std::vector<Member>& members() const { return members_; }
  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  uint32_t RankOf(const Member& member) const {
    return static_cast<uint32_t>(&member - members_.data());
  }

  Member* Find(WorkerId worker);  // Null if it takes no part.
  const Member* Find(WorkerId worker) const { return const_cast<Roster*>(this)->Find(worker); }
  Member& Add(WorkerId worker, const Standing& standing);  // It takes no part yet.
  void Remove(Member& member);

  // The only way to change a standing. `change` gets a Standing&.
  template <class F>
  void Change(Member& member, F change) {
    const Standing before = member.standing_;
    change(member.standing_);
    Count(before, -1);
    Count(member.standing_, +1);
    if (ClockOf(before) != ClockOf(member.standing_)) {
      CountClock(before, -1);
      CountClock(member.standing_, +1);
    }
  }

  const Counts& counts() const { return counts_; }

  // Whether it counts for the slowest's clock: it has data, or steps under way.
  static bool HasClock(const Standing& standing) {
    return standing.owed > 0 || !standing.is_starved;
  }
  // The least clock of those that count; absent: nobody does.
  std::optional<uint64_t> LeastClock() const;

  // Those whom a window has stopped, least clock first. A parked member may be parked again.
  void Park(Member& member);
  void Unpark(Member& member);
  std::optional<uint64_t> LeastParked() const;
  WorkerId UnparkFirst();  // There is one.

 private:
  static std::optional<uint64_t> ClockOf(const Standing& standing) {
    return HasClock(standing) ? std::optional(standing.clock) : std::nullopt;
  }
  void Count(const Standing& standing, int by) {
    const bool is_open = standing.owed > 0 && standing.pushes == 0;
    counts_.busy += standing.owed > 0 ? by : 0;
    counts_.waited_for += is_open && standing.is_counted && !standing.is_missing ? by : 0;
    counts_.silent += is_open && standing.is_missing ? by : 0;
    counts_.sat_out += standing.has_sat_out ? by : 0;
  }
  void CountClock(const Standing& standing, int by);

  std::vector<Member> members_;
  Counts counts_;
  std::map<uint64_t, uint32_t> clocks_;  // How many count at each.
  std::set<std::pair<uint64_t, WorkerId>> parked_;
};

}  // namespace paceline::sync
