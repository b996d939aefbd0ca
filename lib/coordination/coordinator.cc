#include "lib/coordination/coordinator.h"

#include <algorithm>
#include <utility>

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/changing.h"
#include "lib/coordination/phases/checkpointing.h"
#include "lib/coordination/phases/evaluating.h"
#include "lib/coordination/phases/finishing.h"
#include "lib/coordination/phases/hanging.h"
#include "lib/coordination/phases/joining.h"
#include "lib/coordination/phases/poisoning.h"
#include "lib/coordination/phases/publishing.h"
#include "lib/coordination/phases/recovering.h"
#include "lib/coordination/phases/reporting.h"
#include "lib/coordination/phases/sampling.h"
#include "lib/coordination/phases/startup.h"
#include "lib/coordination/phases/starving.h"
#include "lib/coordination/phases/state.h"
#include "lib/coordination/phases/training.h"
#include "lib/coordination/phases/watching.h"

namespace paceline::coordination {

using protocol::Role;

struct Coordinator::State : JobState {
  using JobState::JobState;
};

namespace {

void OnLeaving(Turn turn, ConnectionId connection, const protocol::Leaving& leaving) {
  const Session* const session = turn.job.membership.Find(connection);
  if (leaving.is_done && session->role == Role::kWorker) turn.job.ended.insert(session->worker);
  const std::string why = leaving.is_done ? "its script has ended" : "drained";
  Lose(turn, Loss{connection, sync::LeaveReason::kDrained, WorkerEventKind::kLeft, why,
                  protocol::Finish{why}, true});
}

void OnFailing(Turn turn, ConnectionId connection, const protocol::Failing& failing) {
  const Session* const session = turn.job.membership.Find(connection);
  if (session->role == Role::kWorker && IsScriptsFault(turn.job, session->worker, failing)) {
    return Fail(turn,
                "the script failed twice at the same line before it made a step, on other "
                "samples each time; mend it: " +
                    failing.reason);
  }
  Lose(turn, Loss{connection, sync::LeaveReason::kDisconnected, WorkerEventKind::kLeft,
                  failing.reason, std::nullopt, true});
}

void On(Turn turn, const WorkerSaid& said) {
  if (const auto* join = std::get_if<protocol::Join>(&said.message))
    return OnJoin(turn, said.connection, *join);
  // Of a session that is over, or was refused: its messages were on their way.
  if (!turn.job.membership.Heard(said.connection, turn.now)) return;
  if (const auto* beat = std::get_if<protocol::Heartbeat>(&said.message)) {
    OnHeartbeat(turn, said.connection, *beat);
  } else if (const auto* done = std::get_if<protocol::PushDone>(&said.message)) {
    OnPushDone(turn, said.connection, *done);
  } else if (const auto* abandoned = std::get_if<protocol::Abandoned>(&said.message)) {
    OnAbandoned(turn, said.connection, *abandoned);
  } else if (const auto* evaluated = std::get_if<protocol::Evaluated>(&said.message)) {
    OnEvaluated(turn, said.connection, *evaluated);
  } else if (const auto* leaving = std::get_if<protocol::Leaving>(&said.message)) {
    OnLeaving(turn, said.connection, *leaving);
  } else if (const auto* failing = std::get_if<protocol::Failing>(&said.message)) {
    OnFailing(turn, said.connection, *failing);
  } else if (const auto* drawn = std::get_if<protocol::Drawn>(&said.message)) {
    OnDrawn(turn, said.connection, *drawn);
  }
}

void On(Turn turn, const WorkerGone& gone) {
  Lose(turn, Loss{gone.connection, sync::LeaveReason::kDisconnected, WorkerEventKind::kLeft,
                  "its connection ended", std::nullopt, false});
}

void On(Turn turn, const ShardSaid& said) {
  if (said.shard.value() >= turn.job.options.shards) return;
  turn.job.watch.Heard(said.shard, turn.now);
  if (const auto* beat = std::get_if<protocol::ShardHeartbeat>(&said.message))
    return OnShardHeartbeat(turn, said.shard, *beat);
  turn.job.watch.Answered(said.shard, turn.now);
  if (std::holds_alternative<protocol::Register>(said.message)) {
    OnRegister(turn, said.shard);
  } else if (const auto* failed = std::get_if<protocol::ShardFailed>(&said.message)) {
    OnShardFailed(turn, said.shard, *failed);
  } else if (const auto* restore = std::get_if<protocol::RestoreFailed>(&said.message)) {
    OnRestoreFailed(turn, said.shard, *restore);
  } else if (!turn.job.startup.shards[said.shard.value()].is_configured) {
    // Of the generation before, but for the word that it is over.
    OnStartupWord(turn, said.shard, said.message);
  } else if (const auto* summed = std::get_if<protocol::Summed>(&said.message)) {
    OnSummed(turn, said.shard, *summed);
  } else if (const auto* prepared = std::get_if<protocol::Prepared>(&said.message)) {
    OnPrepared(turn, said.shard, *prepared);
  } else if (const auto* committed = std::get_if<protocol::Committed>(&said.message)) {
    OnCommitted(turn, said.shard, *committed);
  } else if (const auto* saved = std::get_if<protocol::SliceSaved>(&said.message)) {
    OnSliceSaved(turn, said.shard, *saved);
  } else {
    OnStartupWord(turn, said.shard, said.message);
  }
}

void On(Turn turn, const ShardGone& gone) {
  if (gone.shard.value() >= turn.job.options.shards) return;
  OnShardEnded(turn, gone.shard, gone.reason);
}

void On(Turn turn, const Decided& decided) {
  turn.job.is_asking = false;
  if (std::exchange(turn.job.is_answer_stale, false)) return;
  Carry(turn, decided.decisions);
}

void On(Turn turn, const DeadlineReached&) {
  LoseSilent(turn);
  LoseOverdueShards(turn);
  GiveUpLateCheckpoint(turn);
}

void On(Turn turn, const StopAsked& asked) {
  if (asked.kind == StopKind::kFail) return Fail(turn, asked.reason);
  if (asked.kind == StopKind::kSuspend) return BeginSuspending(turn, asked.reason);
  RecoveryState& recovery = turn.job.recovery;
  if (turn.job.phase == Phase::kStartup && !turn.job.startup.is_recovery)
    return Fail(turn, "stopped before training opened: " + asked.reason);
  if (!recovery.stop.has_value()) recovery.stop = asked.reason;
  BeginFinishing(turn, asked.reason);
}

void On(Turn turn, const SpecChanged& changed) { OnSpecChanged(turn, changed); }

void On(Turn turn, const DrainAsked& asked) { OnDrainAsked(turn, asked); }

void On(Turn turn, const FrozenArriving& arriving) { OnFrozenArriving(turn, arriving); }

// Nothing changes any more; but who knocks is told so, and need not try again.
void RefuseLate(const JobState& job, const Fact& fact, std::vector<Effect>& effects) {
  const auto* said = std::get_if<WorkerSaid>(&fact);
  if (said == nullptr || !std::holds_alternative<protocol::Join>(said->message)) return;
  // A suspended job is not over: whoever is told nothing tries again, and finds the next life.
  if (!job.is_suspended) {
    effects.push_back(SendWorker{
        said->connection, protocol::Refused{protocol::RefuseReason::kFinished, "the job is over"}});
  }
  effects.push_back(CloseWorker{said->connection});
}

void On(Turn turn, const ModelFetched& fetched) { OnModelFetched(turn, fetched); }

void On(Turn turn, const ModelSaved& saved) { OnModelSaved(turn, saved); }

void On(Turn turn, const CheckpointSaved& saved) {
  OnCheckpointSaved(turn, saved);
  OnCheckpointAnswered(turn);
}

}  // namespace

Coordinator::Coordinator(CoordinatorOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  GoOnFromFound(*state_);
  state_->seats.GiveAll(state_->options.groups, state_->options.workers_max);
}
Coordinator::Coordinator(const Coordinator& other)
    : state_(std::make_unique<State>(*other.state_)) {}
Coordinator& Coordinator::operator=(const Coordinator& other) {
  *state_ = *other.state_;
  return *this;
}
Coordinator::~Coordinator() = default;

void Coordinator::Step(const Fact& fact, Time now, std::vector<Effect>& effects) {
  JobState& job = *state_;
  if (job.phase == Phase::kOver) return RefuseLate(job, fact, effects);
  if (!job.startup.started.has_value()) job.startup.started = now;
  const Turn turn{job, now, effects};
  std::visit([&](const auto& f) { On(turn, f); }, fact);
  GoOnAsking(turn);
  TellPoisoned(turn);
  TellSamplesReturned(turn);
  if (job.phase == Phase::kStartup) AdvanceStartup(turn);
  if (job.phase == Phase::kTraining) AdvanceChange(turn);
  FinishIfAllScriptsEnded(turn);
  if (job.phase == Phase::kFinishing) AdvanceFinishing(turn);
  NoteDuties(turn);
}

std::optional<Time> Coordinator::Deadline() const {
  const JobState& job = *state_;
  if (job.phase == Phase::kOver) return std::nullopt;
  std::optional<Time> first = job.membership.Deadline();
  const auto take = [&](std::optional<Time> other) {
    if (other.has_value()) first = first.has_value() ? std::min(*first, *other) : *other;
  };
  if (job.phase == Phase::kStartup) take(StartupDeadline(job));
  if (job.phase == Phase::kTraining) take(ChangeDeadline(job));
  if (job.phase == Phase::kFinishing) take(FinishingDeadline(job));
  take(job.watch.Deadline());
  if (job.checkpointing.attempt.has_value()) take(job.checkpointing.attempt->deadline);
  return first;
}

Status Coordinator::status() const { return Report(*state_); }

std::vector<Coordinator::EpochCount> Coordinator::epochs(size_t complete_max) const {
  std::vector<EpochCount> counts;
  if (!state_->leases.has_value()) return counts;
  for (const LeaseLedger::Count& count : state_->leases->counts(complete_max)) {
    counts.push_back({count.epoch, count.free, count.leased, count.accumulated, count.committed,
                      count.discarded, count.skipped});
  }
  return counts;
}

paceline::Status Coordinator::Check() const {
  if (!state_->leases.has_value()) return paceline::OkStatus();
  return state_->leases->Check();
}

std::string Coordinator::Describe() const { return DescribeJob(*state_); }

}  // namespace paceline::coordination
