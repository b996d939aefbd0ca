#include "lib/sync/roster/roster.h"

#include <algorithm>

namespace paceline::sync {

Member* Roster::Find(WorkerId worker) {
  // Mostly nobody has left.
  const uint64_t guess = worker.value();
  if (guess < members_.size() && members_[guess].id == worker) return &members_[guess];
  const auto found =
      std::lower_bound(members_.begin(), members_.end(), worker,
                       [](const Member& member, WorkerId id) { return member.id < id; });
  return found != members_.end() && found->id == worker ? &*found : nullptr;
}

Member& Roster::Add(WorkerId worker, const Standing& standing) {
  const auto place =
      std::lower_bound(members_.begin(), members_.end(), worker,
                       [](const Member& member, WorkerId id) { return member.id < id; });
  Member& member = *members_.emplace(place, worker);
  member.standing_ = standing;
  Count(member.standing_, +1);
  CountClock(member.standing_, +1);
  return member;
}

void Roster::Remove(Member& member) {
  Unpark(member);
  Count(member.standing_, -1);
  CountClock(member.standing_, -1);
  members_.erase(members_.begin() + RankOf(member));
}

void Roster::CountClock(const Standing& standing, int by) {
  if (!HasClock(standing)) return;
  if (by > 0) {
    ++clocks_[standing.clock];
  } else if (const auto found = clocks_.find(standing.clock); --found->second == 0) {
    clocks_.erase(found);
  }
}

std::optional<uint64_t> Roster::LeastClock() const {
  return clocks_.empty() ? std::nullopt : std::optional(clocks_.begin()->first);
}

void Roster::Park(Member& member) {
  Unpark(member);
  member.parked_at = member.standing_.clock;
  parked_.emplace(*member.parked_at, member.id);
}

void Roster::Unpark(Member& member) {
  if (!member.parked_at) return;
  parked_.erase({*member.parked_at, member.id});
  member.parked_at.reset();
}

std::optional<uint64_t> Roster::LeastParked() const {
  return parked_.empty() ? std::nullopt : std::optional(parked_.begin()->first);
}

WorkerId Roster::UnparkFirst() {
  const WorkerId worker = parked_.begin()->second;
  Unpark(*Find(worker));
  return worker;
}

}  // namespace paceline::sync
