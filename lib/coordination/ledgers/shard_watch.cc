#include "lib/coordination/ledgers/shard_watch.h"

#include <algorithm>

namespace paceline::coordination {

void ShardWatch::Began(ShardId shard, Time now) {
  sessions_[shard] = Session{.heard = now, .moved = now};
  losses_.erase(shard);
}

void ShardWatch::Ended(ShardId shard, const std::string& reason, Time now) {
  if (sessions_.erase(shard) > 0) losses_[shard] = {reason, now};
}

const ShardWatch::Loss* ShardWatch::LossOf(ShardId shard) const {
  const auto found = losses_.find(shard);
  return found == losses_.end() ? nullptr : &found->second;
}

void ShardWatch::Heard(ShardId shard, Time now) {
  const auto found = sessions_.find(shard);
  if (found != sessions_.end()) found->second.heard = now;
}

void ShardWatch::Answered(ShardId shard, Time now) {
  const auto found = sessions_.find(shard);
  if (found != sessions_.end()) found->second.heard = found->second.moved = now;
}

void ShardWatch::Worked(ShardId shard, uint64_t work_done, Time now) {
  const auto found = sessions_.find(shard);
  if (found == sessions_.end() || found->second.work_done == work_done) return;
  found->second.work_done = work_done;
  found->second.moved = now;
}

bool ShardWatch::Saved(ShardId shard, uint64_t saved_bytes) {
  const auto found = sessions_.find(shard);
  if (found == sessions_.end() || found->second.saved_bytes == saved_bytes) return false;
  found->second.saved_bytes = saved_bytes;
  return true;
}

void ShardWatch::Owes(ShardId shard, ShardDuty duty, Time now) {
  const auto found = sessions_.find(shard);
  if (found == sessions_.end() || found->second.duty == duty) return;
  found->second.duty = duty;
  found->second.moved = now;
}

std::optional<Time> ShardWatch::SilentAt(ShardId shard, const Session& session) const {
  if (shard == ShardId(0)) return std::nullopt;
  return session.heard + options_.silent_after;
}

std::optional<Time> ShardWatch::StalledAt(const Session& session) const {
  switch (session.duty) {
    case ShardDuty::kNone:
      return std::nullopt;
    case ShardDuty::kConfigure:
      return session.moved + options_.configure_stalled_after;
    case ShardDuty::kOrder:
      return session.moved + options_.stalled_after;
  }
  return std::nullopt;
}

std::vector<ShardWatch::Overdue> ShardWatch::OverdueBy(Time now) const {
  std::vector<Overdue> overdue;
  for (const auto& [shard, session] : sessions_) {
    if (const auto silent = SilentAt(shard, session); silent && now >= *silent) {
      overdue.push_back({shard, ShardLoss::kSilent, now - session.heard});
    } else if (const auto stalled = StalledAt(session); stalled && now >= *stalled) {
      overdue.push_back({shard, ShardLoss::kStalled, now - session.moved});
    }
  }
  return overdue;
}

std::optional<Time> ShardWatch::Deadline() const {
  std::optional<Time> first;
  const auto take = [&](std::optional<Time> other) {
    if (other) first = first ? std::min(*first, *other) : *other;
  };
  for (const auto& [shard, session] : sessions_) {
    take(SilentAt(shard, session));
    take(StalledAt(session));
  }
  return first;
}

std::optional<Time> ShardWatch::StandsStillSince(ShardId shard) const {
  const auto found = sessions_.find(shard);
  if (found == sessions_.end() || found->second.duty == ShardDuty::kNone) return std::nullopt;
  return found->second.moved;
}

}  // namespace paceline::coordination
