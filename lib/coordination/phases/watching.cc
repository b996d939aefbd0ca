#include "lib/coordination/phases/watching.h"

#include <algorithm>
#include <utility>

#include "lib/coordination/phases/recovering.h"

namespace paceline::coordination {

namespace {

ShardDuty DutyOf(const JobState& job, ShardId shard) {
  const ShardState& state = job.startup.shards[shard.value()];
  if (!state.is_registered || job.phase == Phase::kOver) return ShardDuty::kNone;
  if (job.startup.is_configuring && !state.is_configured) return ShardDuty::kConfigure;
  const bool opens = job.startup.is_opening && !state.is_opened;
  return opens || job.commits.AwaitedOf(shard) ? ShardDuty::kOrder : ShardDuty::kNone;
}

std::string DutyInWords(const JobState& job, ShardId shard) {
  const ShardState& state = job.startup.shards[shard.value()];
  if (!state.is_configured) return "configuring its slice";
  if (!state.is_opened) return "opening its slice";
  const std::optional<Version> version = job.commits.AwaitedOf(shard);
  return version ? fmt::format("version {}", version->value()) : "nothing";
}

std::string LossInWords(const JobState& job, const ShardWatch::Overdue& overdue) {
  if (overdue.why == ShardLoss::kSilent)
    return fmt::format("no heartbeat for {:.0f} s", ToSeconds(overdue.for_time));
  return fmt::format("no block of {} for {:.0f} s", DutyInWords(job, overdue.shard),
                     ToSeconds(overdue.for_time));
}

// In few steps: whoever keeps the words need not write new ones each second. 0: nothing yet.
int SecondsWorthTelling(Duration still) {
  int told = 0;
  for (const int seconds : {2, 10, 30, 60}) {
    if (still >= Seconds(seconds)) told = seconds;
  }
  return told;
}

}  // namespace

void OnShardHeartbeat(Turn turn, ShardId shard, const protocol::ShardHeartbeat& beat) {
  JobState& job = turn.job;
  job.watch.Worked(shard, beat.work_done, turn.now);
  auto& attempt = job.checkpointing.attempt;
  const bool has_written = job.watch.Saved(shard, beat.saved_bytes);
  if (has_written && attempt.has_value() && !attempt->saved.contains(shard))
    attempt->deadline = turn.now + job.options.checkpoint->timeout;
}

void LoseOverdueShards(Turn turn) {
  std::vector<CloseShard> losses;  // In words of now: the first loss changes what is owed.
  for (const ShardWatch::Overdue& overdue : turn.job.watch.OverdueBy(turn.now))
    losses.push_back({overdue.shard, overdue.why, LossInWords(turn.job, overdue)});
  for (const CloseShard& loss : losses) {
    turn.effects.push_back(loss);
    OnShardGone(turn, loss.shard, loss.reason);
  }
}

void NoteDuties(Turn turn) {
  for (uint64_t rank = 0; rank < turn.job.options.shards; ++rank)
    turn.job.watch.Owes(ShardId(rank), DutyOf(turn.job, ShardId(rank)), turn.now);
}

std::vector<Status::LostShard> LostShards(const JobState& job) {
  std::vector<Status::LostShard> lost;
  if (job.phase == Phase::kOver || !job.startup.started.has_value()) return lost;
  for (uint64_t rank = 0; rank < job.options.shards; ++rank) {
    const ShardId shard(rank);
    if (job.startup.shards[rank].is_registered) continue;
    if (const ShardWatch::Loss* loss = job.watch.LossOf(shard)) {
      lost.push_back({shard, loss->reason, loss->since, true});
    } else {
      lost.push_back({shard, "it has not registered", *job.startup.started});
    }
  }
  return lost;
}

std::vector<Status::ShardWait> ShardWaits(const JobState& job) {
  std::vector<Status::ShardWait> waits;
  for (uint64_t rank = 0; rank < job.options.shards; ++rank) {
    const ShardId shard(rank);
    if (const auto since = job.watch.StandsStillSince(shard))
      waits.push_back({shard, DutyInWords(job, shard), *since});
  }
  return waits;
}

std::string StandstillInWords(const Status& status, Time now) {
  std::string words;
  const auto add = [&](std::string one) { words += (words.empty() ? "" : "; ") + std::move(one); };
  for (const Status::LostShard& lost : status.lost_shards) {
    if (lost.was_there) add(fmt::format("shard {} is lost: {}", lost.shard, lost.reason));
  }
  for (const Status::ShardWait& wait : status.shard_waits) {
    if (const int seconds = SecondsWorthTelling(now - wait.since); seconds > 0) {
      add(fmt::format("shard {} has done no block of {} for over {} s", wait.shard, wait.what,
                      seconds));
    }
  }
  const bool does_anybody_wait = std::ranges::any_of(status.workers, [](const WorkerStatus& one) {
    return one.is_member && one.doing == protocol::Doing::kWaiting;
  });
  for (const WorkerStatus& worker : status.workers) {
    if (!does_anybody_wait || !worker.is_member || !worker.in_script_since) continue;
    if (const int seconds = SecondsWorthTelling(now - *worker.in_script_since); seconds > 2) {
      add(
          fmt::format("others wait for {}, whose script has been busy between two steps for over "
                      "{} s",
                      ToString(worker.seat), seconds));
    }
  }
  return words;
}

}  // namespace paceline::coordination
