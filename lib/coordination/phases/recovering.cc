#include "lib/coordination/phases/recovering.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"
#include "lib/coordination/phases/finishing.h"
#include "lib/coordination/phases/joining.h"

namespace paceline::coordination {

namespace {

constexpr uint32_t kInVainMax = 5;

// What was judged by another measure than the job's is worth nothing beside what comes, but the
// rate stays as low as it is. The best version is there again, where it is wanted.
void GoOnJudging(JobState& job, const CheckpointState& state) {
  const JudgingOptions& judging = job.options.judging;
  EvaluationState& evaluation = job.evaluation;
  evaluation.newest = state.evaluation;
  if (state.measure.has_value() && *state.measure != judging.measure) {
    evaluation.judged = Judged{.cuts = state.judged.cuts};
    return;
  }
  evaluation.judged = state.judged;
  if (judging.keeps_best) evaluation.kept = state.kept;
}

// `checkpoint` was looked through by whoever found it.
void GoOnFrom(JobState& job, const Checkpoint& checkpoint) {
  const CheckpointState& state = checkpoint.state;
  job.recovery.from = checkpoint;
  job.startup.is_recovery = true;
  job.layout = state.layout;
  job.frozen = state.frozen;
  job.train_samples = state.train_samples;
  CompleteSchedule(job.options, state.train_samples);
  auto leases = LeaseLedger::Restore(
      {state.train_samples, job.options.epochs_max, job.options.seed}, state.leases);
  PACELINE_CHECK(leases.ok(), "checkpoint {}: {}", checkpoint.name, Message(leases.status()));
  job.leases = *std::move(leases);
  job.commits = CommitProgress(ProgressOptionsOf(job.options), state.version);
  job.committed_samples = job.decided_samples = state.committed_samples;
  job.figures = {state.loss, state.train_accuracy};
  job.nonfinite_pushes = state.nonfinite_pushes;
  GoOnJudging(job, state);
  job.seats.Restore(state.seats);
  for (const CheckpointState::Worker& worker : state.workers) {
    WorkerStatus& status = job.workers[worker.worker];
    status.worker = worker.worker;
    status.steps = worker.steps;
    status.samples_committed = worker.samples_committed;
    status.accepted = worker.accepted;
    status.dropped = worker.dropped;
  }
}

void CloseSessions(Turn turn) {
  for (const Session& session : turn.job.membership.all()) {
    turn.effects.push_back(CloseWorker{session.connection});
    if (session.role != protocol::Role::kWorker) continue;
    turn.effects.push_back(WorkerEvent{WorkerEventKind::kLeft, session.worker, session.incarnation,
                                       "the job goes back and everybody joins anew",
                                       turn.job.seats.SeatOf(session.worker)});
  }
}

// Of a generation that is over. Only what was done in it counts: what was lost before was counted
// then.
Setback LostBy(const JobState& job, const std::optional<Checkpoint>& from, Time now) {
  const Version to = from.has_value() ? from->state.version : Version();
  const Version published = job.commits.published();
  if (!job.startup.opened.has_value() || published < to) return {};
  const Time since = from.has_value() ? from->cut.value_or(Time::min()) : Time::min();
  return {published.value() - to.value(), now - std::max(since, *job.startup.opened)};
}

// What outlives the generation.
JobState NextGeneration(const JobState& job, Time now) {
  JobState next(job.options);
  ++next.options.generation.counter;
  next.recovery = job.recovery;
  next.recovery.from.reset();
  next.checkpointing = job.checkpointing;
  next.checkpointing.attempt.reset();
  next.checkpointing.cost.Interrupted();
  next.watch = job.watch;
  next.seats = job.seats;
  next.membership = job.membership;
  next.membership.RemoveAll();
  for (const auto& [worker, status] : job.workers) {
    next.workers[worker].worker = worker;
    next.workers[worker].incarnation = status.incarnation;
  }
  for (size_t rank = 0; rank < job.startup.shards.size(); ++rank)
    next.startup.shards[rank].is_registered = job.startup.shards[rank].is_registered;
  next.startup.started = now;
  next.startup.is_recovery = true;
  next.startup.needed = job.startup.needed;
  if (job.phase == Phase::kTraining)
    next.startup.needed = std::max<uint32_t>(1, static_cast<uint32_t>(job.participants.size()));
  // Whoever was asked answers yet.
  next.is_asking = next.is_answer_stale = job.is_asking;
  if (!next.checkpointing.complete.empty()) {
    GoOnFrom(next, next.checkpointing.complete.back());
  } else if (job.layout.has_value()) {
    next.layout = job.layout;
    next.train_samples = job.train_samples;
    next.leases.emplace(
        LeaseLedger::Options{job.train_samples, job.options.epochs_max, job.options.seed});
  }
  if (!next.frozen.has_value()) next.frozen = job.frozen;
  next.sampling.drawn = job.sampling.drawn;
  if (next.leases.has_value() && job.leases.has_value()) {
    next.leases->Inherit(*job.leases);
    for (const auto& [worker, health] : job.health)
      if (health.ill_in_a_row > 0) next.leases->Doubt(worker);
  }
  return next;
}

// Those from `version` on, for good: a later coordinator that finds one would go on from it. One is
// left, however old it may be.
void ForsakeFrom(Turn turn, Version version) {
  CheckpointingState& checkpointing = turn.job.checkpointing;
  std::vector<Checkpoint>& complete = checkpointing.complete;
  if (!checkpointing.completing.empty()) {
    const size_t kept = std::max<size_t>(turn.job.options.checkpoint->keep, 1) - 1;
    if (kept == 0) return;  // Whichever is on the disk is the only one.
    if (complete.size() > kept) complete.erase(complete.begin(), complete.end() - kept);
    checkpointing.is_forsaken = true;
  }
  ForsakeCheckpoints forsaken;
  while (complete.size() > 1 && complete.back().state.version >= version) {
    forsaken.names.push_back(complete.back().name);
    complete.pop_back();
  }
  if (!forsaken.names.empty()) turn.effects.push_back(std::move(forsaken));
}

// From a checkpoint that cannot be restored, and is none any more.
void GoBackFurther(Turn turn, const std::string& problem) {
  if (turn.job.checkpointing.complete.empty())
    return Fail(turn, problem + "; there is no other: move it away to begin anew");
  RollBack(turn, problem);
}

// In a row: no checkpoint was completed beyond where it happened last. What the job went back to
// then may hold the cause, so that it goes one further, as long as there is one.
void GoFurtherBack(Turn turn) {
  JobState& job = turn.job;
  RecoveryState& recovery = job.recovery;
  const std::vector<Checkpoint>& complete = job.checkpointing.complete;
  const bool is_in_a_row =
      recovery.non_finite_in_a_row > 0 &&
      (complete.empty() || complete.back().state.version <= recovery.non_finite_at);
  recovery.non_finite_in_a_row = is_in_a_row ? recovery.non_finite_in_a_row + 1 : 1;
  if (is_in_a_row) ForsakeFrom(turn, recovery.non_finite_to);
  recovery.non_finite_at = job.commits.published();
  recovery.non_finite_to = complete.empty() ? Version() : complete.back().state.version;
}

}  // namespace

void GoOnFromFound(JobState& job) {
  if (job.checkpointing.complete.empty()) return;
  const Checkpoint& newest = job.checkpointing.complete.back();
  job.recovery.damping = newest.state.damping;
  GoOnFrom(job, newest);
}

void OnShardGone(Turn turn, ShardId shard, const std::string& reason) {
  JobState& job = turn.job;
  job.startup.shards[shard.value()] = ShardState{};  // Nobody is there to be told anything.
  job.watch.Ended(shard, reason, turn.now);
  const bool was_used = job.phase != Phase::kStartup || job.startup.is_configuring;
  if (was_used) RollBack(turn, fmt::format("shard {} lost: {}", shard, reason));
}

// Whoever starts processes counts how they end (backoffLimit), or knows that they were disrupted. A
// job without checkpoints may well go back to its start for the tenth time before it has come
// further than ever: what counts is that it trains.
void OnShardEnded(Turn turn, ShardId shard, const std::string& reason) {
  JobState& job = turn.job;
  const std::optional<Checkpoint>& from = job.recovery.from;
  const Version begun = from.has_value() ? from->state.version : Version();
  if (job.commits.published() > begun) job.recovery.in_vain = 0;
  OnShardGone(turn, shard, reason);
}

void OnShardFailed(Turn turn, ShardId shard, const protocol::ShardFailed& failed) {
  if (failed.generation != turn.job.options.generation) return;
  RollBack(turn, fmt::format("shard {} lost: {}", shard, failed.reason));
}

void OnRestoreFailed(Turn turn, ShardId shard, const protocol::RestoreFailed& failed) {
  JobState& job = turn.job;
  if (failed.generation != job.options.generation || !job.recovery.from.has_value()) return;
  const std::string name = job.recovery.from->name;
  const std::string problem =
      fmt::format("checkpoint {} cannot be restored: shard {}: {}", name, shard, failed.reason);
  turn.effects.push_back(CheckpointEvent{name, job.recovery.from->state.version, problem});
  std::vector<Checkpoint>& complete = job.checkpointing.complete;
  std::erase_if(complete, [&](const Checkpoint& one) { return one.name == name; });
  if (complete.empty() && !job.checkpointing.completing.empty()) {
    job.recovery.unrestored = problem;
    return;
  }
  GoBackFurther(turn, problem);
}

void OnCheckpointAnswered(Turn turn) {
  if (turn.job.phase == Phase::kOver) return;
  if (turn.job.recovery.unrestored.empty() || !turn.job.checkpointing.completing.empty()) return;
  GoBackFurther(turn, std::exchange(turn.job.recovery.unrestored, {}));
}

void RollBack(Turn turn, const std::string& reason) {
  JobState& job = turn.job;
  if (job.phase == Phase::kOver) return;
  if (IsModelHere(job)) return NoteLoss(job, reason);
  if (job.finishing.is_suspending) return Suspend(turn, reason);
  if (job.finishing.saved.has_value()) return EndAsSaved(turn, reason);
  RecoveryState& recovery = job.recovery;
  if (job.commits.published() > recovery.furthest) recovery.in_vain = 0;
  recovery.furthest = std::max(recovery.furthest, job.commits.published());
  if (++recovery.in_vain > kInVainMax) {
    return Fail(turn, fmt::format("{}; {} times rolled back without getting any further", reason,
                                  kInVainMax));
  }
  ++recovery.roll_backs;
  CloseSessions(turn);
  JobState next = NextGeneration(job, turn.now);
  const std::optional<Checkpoint>& from = next.recovery.from;
  const std::string where = from.has_value()
                                ? fmt::format("back to version {}, checkpoint {}",
                                              from->state.version.value(), from->name)
                                : std::string("no checkpoint to go back to, begun anew");
  next.recovery.last = reason + "; " + where;
  next.recovery.last_lost = LostBy(job, from, turn.now);
  next.recovery.lost.steps += next.recovery.last_lost.steps;
  next.recovery.lost.training += next.recovery.last_lost.training;
  next.recovery.last_from = job.commits.published();
  next.recovery.last_to = from.has_value() ? from->state.version : Version();
  turn.effects.push_back(
      RolledBack{next.options.generation, next.recovery.last,
                 from.has_value() ? std::optional<Version>(from->state.version) : std::nullopt,
                 next.recovery.last_lost.steps, next.recovery.last_lost.training});
  job = std::move(next);
}

void RollBackNonFinite(Turn turn, const std::string& reason) {
  JobState& job = turn.job;
  const NonFiniteOptions& wish = job.options.non_finite;
  Damping& damping = job.recovery.damping;
  if (wish.action == NonFiniteAction::kFail)
    return Fail(turn, reason + "; training.nonFinite.action is Fail");
  if (damping.roll_backs >= wish.limit) {
    return Fail(turn, fmt::format("{}; rolled back {} times, the learning rate times {:g}", reason,
                                  damping.roll_backs, damping.learning_rate_scale));
  }
  ++damping.roll_backs;
  damping.learning_rate_scale *= wish.learning_rate_factor;
  GoFurtherBack(turn);
  job.recovery.in_vain = 0;  // They have a limit of their own.
  RollBack(turn, fmt::format("{}; from here the learning rate is multiplied by {:g}", reason,
                             damping.learning_rate_scale));
}

}  // namespace paceline::coordination
