#include "lib/coordination/phases/startup.h"

#include <algorithm>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/checkpointing.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/finishing.h"
#include "lib/coordination/phases/joining.h"
#include "lib/coordination/phases/recovering.h"

namespace paceline::coordination {

using protocol::Role;

namespace {

bool All(const StartupState& startup, bool ShardState::*said) {
  return std::all_of(startup.shards.begin(), startup.shards.end(),
                     [&](const ShardState& shard) { return shard.*said; });
}

// "s1, s3": the shards that have not said it.
std::string Missing(const StartupState& startup, bool ShardState::*said) {
  std::string names;
  for (size_t rank = 0; rank < startup.shards.size(); ++rank) {
    if (startup.shards[rank].*said) continue;
    names += (names.empty() ? "" : ", ") + ToString(ShardId(rank));
  }
  return names;
}

bool IsFilledBy(const StartupState& startup, const Session& filler) {
  return std::all_of(startup.shards.begin(), startup.shards.end(), [&](const ShardState& shard) {
    return shard.filled == std::pair(filler.worker, filler.incarnation);
  });
}

// Until then all wanted workers are waited for.
Time ScheduleDeadline(const JobState& job) {
  const StartupState& startup = job.startup;
  return std::max(*startup.started, startup.arrived) + job.options.schedule_timeout;
}

uint32_t WorkersNeeded(const JobState& job) {
  const CoordinatorOptions& options = job.options;
  if (options.is_deterministic) return options.workers_wanted;
  if (job.startup.is_schedule_over || job.startup.is_gathered) return options.workers_min;
  return std::min(options.workers_wanted, job.startup.needed.value_or(options.workers_wanted));
}

// How many of the group are there; how many it takes.
struct GroupCount {
  uint32_t joined = 0;
  uint32_t needed = 0;
};

GroupCount CountOf(const JobState& job, const GroupOptions& group) {
  GroupCount count;
  for (const Session& session : job.membership.workers()) {
    if (job.seats.SeatOf(session.worker).group == group.name) ++count.joined;
  }
  const StartupState& startup = job.startup;
  const bool is_min_enough = startup.is_schedule_over || startup.is_gathered || startup.needed;
  count.needed = is_min_enough && !job.options.is_deterministic ? group.min : group.wanted;
  return count;
}

// ", big: 0 of 1" of each group that has too few, whatever there is of others.
std::string GroupsMissing(const JobState& job) {
  std::string text;
  for (const GroupOptions& group : job.options.groups) {
    const GroupCount count = CountOf(job, group);
    if (count.joined < count.needed)
      text += fmt::format(", {}: {} of {}", group.name, count.joined, count.needed);
  }
  return text;
}

Duration RegisterTimeout(const JobState& job) {
  return job.startup.is_recovery ? job.options.recovery_timeout : job.options.shards_timeout;
}

// A checkpoint is all that its shards need: they open by themselves.
void Configure(Turn turn) {
  JobState& job = turn.job;
  job.startup.is_configuring = true;
  ConfigureShards effect{*job.layout, job.options.generation, std::nullopt,
                         job.frozen.value_or(std::vector<protocol::FrozenTensor>())};
  if (const std::optional<Checkpoint>& from = job.recovery.from) {
    effect.restore = {from->name, from->state.version, from->slices, std::nullopt};
    if (job.evaluation.kept.has_value()) effect.restore->kept = job.evaluation.kept->version;
    job.startup.is_opening = true;
  }
  turn.effects.push_back(std::move(effect));
  for (const Session& session : job.membership.workers()) AdmitToShards(turn, session);
}

// Version 0 is there to go back to before anybody computes on it, or is being written where
// checkpoints are to cost little. A volume that is full or broken
// is told of, and does not keep training from opening.
bool IsFirstKept(Turn turn) {
  JobState& job = turn.job;
  if (!job.options.checkpoint.has_value() || job.recovery.from.has_value()) return true;
  if (!job.startup.is_first_kept) {
    job.startup.is_first_kept = true;
    StartCheckpoint(turn);
  }
  return !job.checkpointing.attempt.has_value() || job.options.checkpoint->cost_max.has_value();
}

// Chooses who fills, in order of joining, and opens the shards once one life has filled them all.
void AdvanceFill(Turn turn) {
  StartupState& startup = turn.job.startup;
  if (startup.is_opening) return;
  if (!startup.filler.has_value()) {
    for (const Session& session : turn.job.membership.all()) {
      if (session.role != Role::kWorker) continue;
      startup.filler = session.connection;
      turn.Send(session.connection, protocol::Fill{});
      break;
    }
  }
  if (!startup.filler.has_value()) return;
  const Session& filler = *turn.job.membership.Find(*startup.filler);
  if (!IsFilledBy(startup, filler)) return;
  startup.is_opening = true;
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
  for (const Session& session : workers) job.participants.insert(session.worker);
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
  const bool was_used = job.startup.shards[shard.value()].is_registered &&
                        (job.phase != Phase::kStartup || job.startup.is_configuring);
  job.startup.shards[shard.value()] = ShardState{.is_registered = true};
  job.watch.Began(shard, turn.now);
  if (was_used) RollBack(turn, fmt::format("shard {} lost: it registered again", shard));
}

void OnFrozenArriving(Turn turn, const FrozenArriving& arriving) {
  turn.job.startup.arriving = arriving;
  turn.job.startup.arrived = turn.now;
}

void OnStartupWord(Turn turn, ShardId shard, const protocol::ShardMessage& message) {
  ShardState& state = turn.job.startup.shards[shard.value()];
  if (const auto* configured = std::get_if<protocol::Configured>(&message)) {
    state.is_configured =
        turn.job.startup.is_configuring && configured->generation == turn.job.options.generation;
  } else if (const auto* filled = std::get_if<protocol::Filled>(&message)) {
    state.filled = std::pair(filled->worker, filled->incarnation);
  } else if (std::holds_alternative<protocol::Opened>(message)) {
    state.is_opened = turn.job.startup.is_opening;
  }
}

void AdvanceStartup(Turn turn) {
  JobState& job = turn.job;
  StartupState& startup = job.startup;
  const CoordinatorOptions& options = job.options;
  if (!All(startup, &ShardState::is_registered)) {
    if (turn.now < *startup.started + RegisterTimeout(job)) return;
    return Fail(turn, fmt::format("shards did not register within {:g} s: {}",
                                  ToSeconds(RegisterTimeout(job)),
                                  Missing(startup, &ShardState::is_registered)));
  }
  if (job.layout.has_value() && !startup.is_configuring) Configure(turn);
  if (All(startup, &ShardState::is_configured) && !startup.has_announced) {
    startup.has_announced = true;
    for (const Session& session : job.membership.all())
      turn.Send(session.connection, protocol::Shards{});
  }
  if (startup.has_announced) AdvanceFill(turn);

  if (turn.now >= ScheduleDeadline(job)) startup.is_schedule_over = true;
  const bool is_open = All(startup, &ShardState::is_opened);
  if (is_open && !startup.opened.has_value()) startup.opened = turn.now;
  const bool is_kept = is_open && IsFirstKept(turn);
  // What was all done before the loss needs no worker.
  if (is_kept && StopReason(job).has_value()) return OpenTraining(turn);
  // Those who were there before a loss have had their time to come back.
  if (startup.is_recovery && startup.opened &&
      turn.now >= *startup.opened + options.regather_timeout)
    startup.is_gathered = true;
  const uint32_t needed = WorkersNeeded(job);
  const size_t joined = job.membership.workers_count();
  if (const std::string missing = GroupsMissing(job); joined < needed || !missing.empty()) {
    if (!startup.is_schedule_over || options.waits_for_workers) return;
    return Fail(turn, fmt::format("{} of at least {} workers joined within {:g} s{}", joined,
                                  needed, ToSeconds(options.schedule_timeout), missing));
  }
  if (is_kept) OpenTraining(turn);
}

std::optional<Time> StartupDeadline(const JobState& job) {
  const StartupState& startup = job.startup;
  // The first Step starts the clock: let it be at once.
  if (!startup.started.has_value()) return Time::min();
  std::optional<Time> first;
  if (!startup.is_schedule_over) first = ScheduleDeadline(job);
  if (!All(startup, &ShardState::is_registered)) {
    const Time registered = *startup.started + RegisterTimeout(job);
    first = first.has_value() ? std::min(*first, registered) : registered;
  }
  if (startup.is_recovery && startup.opened.has_value() && !startup.is_gathered) {
    const Time gathered = *startup.opened + job.options.regather_timeout;
    first = first.has_value() ? std::min(*first, gathered) : gathered;
  }
  return first;
}

std::string StartupWaitsFor(const JobState& job) {
  const StartupState& startup = job.startup;
  if (!All(startup, &ShardState::is_registered))
    return "shards " + Missing(startup, &ShardState::is_registered);
  if (!job.layout.has_value() && startup.arriving &&
      startup.arriving->bytes < startup.arriving->total) {
    return fmt::format("the first worker, which hands over its frozen parameters: {} of {} MB",
                       startup.arriving->bytes / 1'000'000, startup.arriving->total / 1'000'000);
  }
  if (!job.layout.has_value()) return "the first worker";
  if (!startup.has_announced)
    return "shards to be configured: " + Missing(startup, &ShardState::is_configured);
  if (!startup.is_opening) return "a worker to fill in the initial values";
  if (!All(startup, &ShardState::is_opened))
    return "shards to open: " + Missing(startup, &ShardState::is_opened);
  if (job.checkpointing.attempt.has_value()) return "the first checkpoint";
  return fmt::format("workers: {} of {} joined{}", job.membership.workers_count(),
                     WorkersNeeded(job), GroupsMissing(job));
}

}  // namespace paceline::coordination
