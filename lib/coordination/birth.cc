#include "lib/coordination/birth.h"

#include <algorithm>

#include "lib/coordination/asking.h"
#include "lib/coordination/finishing.h"

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
  const bool may_be_fewer = job.birth.is_schedule_over && !job.options.is_deterministic;
  return may_be_fewer ? job.options.workers_min : job.options.workers_wanted;
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
  turn.effects.push_back(
      TrainingOpened{static_cast<uint32_t>(workers.size()), job.options.workers_wanted});
  for (const Session& session : workers) job.told.insert(session.worker);
  for (const Session& session : workers) Ask(turn, sync::WorkerJoined{session.worker});
}

}  // namespace

void OnRegister(Turn turn, ShardId shard) {
  ShardState& state = turn.job.birth.shards[shard.value()];
  if (state.is_registered && turn.job.birth.is_configuring) {
    return Fail(turn, fmt::format("shard {} lost: it registered again", shard));
  }
  state.is_registered = true;
}

void OnBirthWord(Turn turn, ShardId shard, const protocol::ShardMessage& message) {
  ShardState& state = turn.job.birth.shards[shard.value()];
  if (std::holds_alternative<protocol::Configured>(message)) {
    state.is_configured = turn.job.birth.is_configuring;
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
    if (turn.now < *birth.started + options.shards_timeout) return;
    return Fail(turn, fmt::format("shards did not register within {:g} s: {}",
                                  ToSeconds(options.shards_timeout),
                                  Missing(birth, &ShardState::is_registered)));
  }
  if (job.layout.has_value() && !birth.is_configuring) {
    birth.is_configuring = true;
    turn.effects.push_back(ConfigureShards{*job.layout});
  }
  if (All(birth, &ShardState::is_configured) && !birth.has_announced) {
    birth.has_announced = true;
    for (const Session& session : job.membership.all())
      turn.Send(session.connection, protocol::Shards{});
  }
  if (birth.has_announced) AdvanceFill(turn);

  if (turn.now >= *birth.started + options.schedule_timeout) birth.is_schedule_over = true;
  const uint32_t needed = WorkersNeeded(job);
  const size_t joined = job.membership.workers_count();
  if (joined < needed) {
    if (!birth.is_schedule_over) return;
    return Fail(turn, fmt::format("{} of at least {} workers joined within {:g} s", joined, needed,
                                  ToSeconds(options.schedule_timeout)));
  }
  if (All(birth, &ShardState::is_opened)) OpenTraining(turn);
}

std::optional<Time> BirthDeadline(const JobState& job) {
  const BirthState& birth = job.birth;
  // The first Step starts the clock: let it be at once.
  if (!birth.started.has_value()) return Time::min();
  std::optional<Time> first;
  if (!birth.is_schedule_over) first = *birth.started + job.options.schedule_timeout;
  if (!All(birth, &ShardState::is_registered)) {
    const Time registered = *birth.started + job.options.shards_timeout;
    first = first.has_value() ? std::min(*first, registered) : registered;
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
  return fmt::format("workers: {} of {} joined", job.membership.workers_count(),
                     WorkersNeeded(job));
}

}  // namespace paceline::coordination
