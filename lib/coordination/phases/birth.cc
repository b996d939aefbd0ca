#include "lib/coordination/phases/birth.h"

#include <algorithm>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/checkpointing.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/finishing.h"
#include "lib/coordination/phases/recovering.h"

namespace paceline::coordination {

using protocol::Role;

namespace {

bool All(const BirthState& birth, bool ShardState::*said) {
  return std::all_of(birth.shards.begin(), birth.shards.end(),
                     [&](const ShardState& shard) { return shard.*said; });
}

// "s1, s3": the shards that have not said it.
std::string Missing(const BirthState& birth, bool ShardState::*said) {
  std::string names;
  for (size_t rank = 0; rank < birth.shards.size(); ++rank) {
    if (birth.shards[rank].*said) continue;
    names += (names.empty() ? "" : ", ") + ToString(ShardId(rank));
  }
  return names;
}

bool IsFilledBy(const BirthState& birth, const Session& filler) {
  return std::all_of(birth.shards.begin(), birth.shards.end(), [&](const ShardState& shard) {
    return shard.filled == std::pair(filler.worker, filler.incarnation);
  });
}

uint32_t WorkersNeeded(const JobState& job) {
  const CoordinatorOptions& options = job.options;
  if (options.is_deterministic) return options.workers_wanted;
  if (job.birth.is_schedule_over || job.birth.is_gathered) return options.workers_min;
  return std::min(options.workers_wanted, job.birth.needed.value_or(options.workers_wanted));
}

Duration RegisterTimeout(const JobState& job) {
  return job.birth.is_recovery ? job.options.recovery_timeout : job.options.shards_timeout;
}

// A checkpoint is all that its shards need: they open by themselves.
void Configure(Turn turn) {
  JobState& job = turn.job;
  job.birth.is_configuring = true;
  ConfigureShards effect{*job.layout, job.options.generation, std::nullopt};
  if (const std::optional<Checkpoint>& from = job.recovery.from) {
    effect.restore = {from->name, from->state.version, from->slices};
    job.birth.is_opening = true;
  }
  turn.effects.push_back(std::move(effect));
  for (const Session& session : job.membership.workers())
    turn.Order(protocol::Admit{session.worker, session.incarnation});
}

// Version 0 is there to go back to before anybody computes on it, or is being written where
// checkpoints are to cost little. A volume that is full or broken
// is told of, and does not keep training from opening.
bool IsFirstKept(Turn turn) {
  JobState& job = turn.job;
  if (!job.options.checkpoint.has_value() || job.recovery.from.has_value()) return true;
  if (!job.birth.is_first_kept) {
    job.birth.is_first_kept = true;
    StartCheckpoint(turn);
  }
  return !job.checkpointing.attempt.has_value() || job.options.checkpoint->cost_max.has_value();
}

// Chooses who fills, in order of joining, and opens the shards once one life has filled them all.
void AdvanceFill(Turn turn) {
  BirthState& birth = turn.job.birth;
  if (birth.is_opening) return;
  if (!birth.filler.has_value()) {
    for (const Session& session : turn.job.membership.all()) {
      if (session.role != Role::kWorker) continue;
      birth.filler = session.connection;
      turn.Send(session.connection, protocol::Fill{});
      break;
    }
  }
  if (!birth.filler.has_value()) return;
  const Session& filler = *turn.job.membership.Find(*birth.filler);
  if (!IsFilledBy(birth, filler)) return;
  birth.is_opening = true;
  turn.Order(protocol::Open{filler.worker, filler.incarnation});
}

void OpenTraining(Turn turn) {
  JobState& job = turn.job;
  job.phase = Phase::kTraining;
  job.evaluation.started = turn.now;
  const std::vector<Session> workers = job.membership.workers();
  TrainingOpened opened{static_cast<uint32_t>(workers.size()), job.options.workers_wanted,
                        job.commits.published(), job.committed_samples, ""};
  if (job.recovery.from.has_value()) {
    opened.policy = job.recovery.from->state.policy;
    job.checkpointing.started = turn.now;  // What it began with is there.
  }
  turn.effects.push_back(std::move(opened));
  for (const Session& session : workers) job.told.insert(session.worker);
  for (const Session& session : workers) Ask(turn, sync::WorkerJoined{session.worker});
  if (const std::optional<std::string> stop = StopReason(job)) {
    BeginFinishing(turn, *stop);
  } else if (job.recovery.stop.has_value()) {
    BeginFinishing(turn, *job.recovery.stop);
  } else {
    EndUnjudged(turn);
  }
}

}  // namespace

void OnRegister(Turn turn, ShardId shard) {
  JobState& job = turn.job;
  const bool was_used = job.birth.shards[shard.value()].is_registered &&
                        (job.phase != Phase::kBirth || job.birth.is_configuring);
  job.birth.shards[shard.value()] = ShardState{.is_registered = true};
  job.watch.Began(shard, turn.now);
  if (was_used) RollBack(turn, fmt::format("shard {} lost: it registered again", shard));
}

void OnBirthWord(Turn turn, ShardId shard, const protocol::ShardMessage& message) {
  ShardState& state = turn.job.birth.shards[shard.value()];
  if (const auto* configured = std::get_if<protocol::Configured>(&message)) {
    state.is_configured =
        turn.job.birth.is_configuring && configured->generation == turn.job.options.generation;
  } else if (const auto* filled = std::get_if<protocol::Filled>(&message)) {
    state.filled = std::pair(filled->worker, filled->incarnation);
  } else if (std::holds_alternative<protocol::Opened>(message)) {
    state.is_opened = turn.job.birth.is_opening;
  }
}

void AdvanceBirth(Turn turn) {
  JobState& job = turn.job;
  BirthState& birth = job.birth;
  const CoordinatorOptions& options = job.options;
  if (!All(birth, &ShardState::is_registered)) {
    if (turn.now < *birth.started + RegisterTimeout(job)) return;
    return Fail(turn, fmt::format("shards did not register within {:g} s: {}",
                                  ToSeconds(RegisterTimeout(job)),
                                  Missing(birth, &ShardState::is_registered)));
  }
  if (job.layout.has_value() && !birth.is_configuring) Configure(turn);
  if (All(birth, &ShardState::is_configured) && !birth.has_announced) {
    birth.has_announced = true;
    for (const Session& session : job.membership.all())
      turn.Send(session.connection, protocol::Shards{});
  }
  if (birth.has_announced) AdvanceFill(turn);

  if (turn.now >= *birth.started + options.schedule_timeout) birth.is_schedule_over = true;
  const bool is_open = All(birth, &ShardState::is_opened);
  if (is_open && !birth.opened.has_value()) birth.opened = turn.now;
  const bool is_kept = is_open && IsFirstKept(turn);
  // What was all done before the loss needs no worker.
  if (is_kept && StopReason(job).has_value()) return OpenTraining(turn);
  // Those who were there before a loss have had their time to come back.
  if (birth.is_recovery && birth.opened && turn.now >= *birth.opened + options.regather_timeout)
    birth.is_gathered = true;
  const uint32_t needed = WorkersNeeded(job);
  const size_t joined = job.membership.workers_count();
  if (joined < needed) {
    if (!birth.is_schedule_over || options.waits_for_workers) return;
    return Fail(turn, fmt::format("{} of at least {} workers joined within {:g} s", joined, needed,
                                  ToSeconds(options.schedule_timeout)));
  }
  if (is_kept) OpenTraining(turn);
}

std::optional<Time> BirthDeadline(const JobState& job) {
  const BirthState& birth = job.birth;
  // The first Step starts the clock: let it be at once.
  if (!birth.started.has_value()) return Time::min();
  std::optional<Time> first;
  if (!birth.is_schedule_over) first = *birth.started + job.options.schedule_timeout;
  if (!All(birth, &ShardState::is_registered)) {
    const Time registered = *birth.started + RegisterTimeout(job);
    first = first.has_value() ? std::min(*first, registered) : registered;
  }
  if (birth.is_recovery && birth.opened.has_value() && !birth.is_gathered) {
    const Time gathered = *birth.opened + job.options.regather_timeout;
    first = first.has_value() ? std::min(*first, gathered) : gathered;
  }
  return first;
}

std::string BirthWaitsFor(const JobState& job) {
  const BirthState& birth = job.birth;
  if (!All(birth, &ShardState::is_registered))
    return "shards " + Missing(birth, &ShardState::is_registered);
  if (!job.layout.has_value()) return "the first worker";
  if (!birth.has_announced)
    return "shards to be configured: " + Missing(birth, &ShardState::is_configured);
  if (!birth.is_opening) return "a worker to fill in the initial values";
  if (!All(birth, &ShardState::is_opened))
    return "shards to open: " + Missing(birth, &ShardState::is_opened);
  if (job.checkpointing.attempt.has_value()) return "the first checkpoint";
  return fmt::format("workers: {} of {} joined", job.membership.workers_count(),
                     WorkersNeeded(job));
}

}  // namespace paceline::coordination
