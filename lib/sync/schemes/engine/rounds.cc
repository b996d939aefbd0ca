#include "lib/sync/schemes/engine/rounds.h"

#include <algorithm>
#include <utility>

#include "lib/sync/schemes/engine/designated.h"
#include "lib/sync/schemes/engine/reconfigured.h"
#include "lib/sync/schemes/engine/sending.h"
#include "lib/sync/schemes/engine/sharing.h"
#include "lib/sync/schemes/meanwhile/local_steps.h"

namespace paceline::sync {
namespace {

bool IsRoundOver(const EngineState& state) {
  if (state.round.pushes == 0) return false;
  if (state.round.is_out_of_time) return true;
  if (const std::optional<bool> is_awaited = IsDesignatedAwaited(state)) return !*is_awaited;
  const uint32_t needed = PushesNeeded(state);
  if (state.at.counted == Counted::kPushes) return state.round.pushes >= needed;
  if (state.round.distinct < needed) return false;
  return state.roster.counts().waited_for == 0 || HoldsPartOf(state, needed);
}

// All who go on at once have done so, and nobody makes a push any more.
bool IsDeserted(const EngineState& state) {
  return state.at.meanwhile == Meanwhile::kGoOn && state.round.pushes > 0 &&
         state.roster.counts().busy == 0;
}

double LearningRateScale(const EngineState& state) {
  switch (state.at.step) {
    case StepScale::kMean:
      return state.sizer->LearningRateScale() * state.quorum->LearningRateScale(state.round.pushes);
    case StepScale::kShare:
      return state.round.samples / state.spec.global_batch_size;
    case StepScale::kFull:
      return 1;
  }
  return 1;
}

Commit CommitOf(const EngineState& state) {
  // Deltas carry the weights that they count with.
  if (state.at.Kind() == PushKind::kDelta)
    return {.kind = PushKind::kDelta, .outer = state.at.outer};
  return {.gradient_scale = 1 / state.round.samples,
          .learning_rate_scale = LearningRateScale(state)};
}

}  // namespace

void OpenRound(Turn turn) {
  EngineState& state = turn.state;
  for (const WorkerId worker : std::exchange(state.round.contributors, {})) {
    if (Member* const member = state.roster.Find(worker)) {
      state.roster.Change(*member, [](Standing& standing) { standing.pushes = 0; });
      state.due.push_back(worker);
    }
  }
  for (const WorkerId worker : std::exchange(state.held, {})) {
    Member* const member = state.roster.Find(worker);
    if (member == nullptr || !member->is_held) continue;
    member->is_held = false;
    state.roster.Change(*member, [](Standing& standing) { standing.has_sat_out = false; });
    state.due.push_back(worker);
  }
  state.round = Round{};
  state.round.members = std::max(state.roster.size() - state.roster.counts().silent, 1u);
  if (state.at.HasRounds()) state.is_sharing_due = true;
  if (state.at.IsStrict()) ShareOut(turn);
  if (state.at.IsLocal()) OpenLocalRound(turn);
  state.is_beginning_told = state.at.HasRounds() && state.version <= state.published;
}

namespace {

// Whoever returns from being out of data may not pull the minimum down under the others' feet. The
// first to return when nobody counts sets it: there is nobody to wait for.
void FindSlowest(EngineState& state) {
  if (const auto least = state.roster.LeastClock()) {
    state.slowest = *least;
    return;
  }
  if (state.samples_left == 0) {
    // Nobody returns, and whom the window had stopped stands in line like all the others.
    while (state.roster.LeastParked()) state.due.push_back(state.roster.UnparkFirst());
    return;
  }
  std::optional<uint64_t> returning = state.roster.LeastParked();
  if (const Member* const first = FirstInLine(state))
    returning = std::min(returning.value_or(first->standing().clock), first->standing().clock);
  for (const WorkerId worker : state.due) {
    const Member* const member = state.roster.Find(worker);
    if (member == nullptr) continue;
    const uint64_t clock = member->standing().clock;
    returning = std::min(returning.value_or(clock), clock);
  }
  if (returning) state.slowest = std::max(*returning, state.slowest);
}

void WakeParked(EngineState& state) {
  while (const auto least = state.roster.LeastParked()) {
    if (!state.at.window.Admits(*least, state.slowest)) return;
    state.due.push_back(state.roster.UnparkFirst());
  }
}

void NoteEnd(EngineState& state, Time now) {
  LocalSeen& seen = state.seen;
  ++seen.rounds;
  seen.last_round_seconds = ToSeconds(now - seen.round_began);
  seen.trigger_worker = state.round.is_out_of_time ? std::nullopt : seen.last_pusher;
  if (++state.rounds_since_election >= state.at.local.elect_rounds) state.designated.reset();
}

void SendOnDue(Turn turn) {
  EngineState& state = turn.state;
  std::vector<WorkerId> due = std::exchange(state.due, {});
  std::sort(due.begin(), due.end());
  due.erase(std::unique(due.begin(), due.end()), due.end());
  for (const WorkerId worker : due) {
    if (Member* const member = state.roster.Find(worker)) SendOn(turn, *member);
  }
}

std::vector<WorkerId> Busy(const EngineState& state) {
  std::vector<WorkerId> busy;
  if (!state.at.IsStrict() || state.at.news == LateWorker::kLeave) return busy;
  for (const Member& member : state.roster.members()) {
    if (member.standing().owed > 0) busy.push_back(member.id);
  }
  return busy;
}

void SendNews(Turn turn, WorkerId busy) {
  if (turn.state.at.news == LateWorker::kOffer)
    turn.decisions.push_back(Offer{busy, turn.state.version});
  if (turn.state.at.news == LateWorker::kInterrupt) turn.decisions.push_back(Interrupt{busy});
}

}  // namespace

uint32_t PushesNeeded(const EngineState& state) {
  const Roster::Counts& counts = state.roster.counts();
  if (state.at.counted == Counted::kPushes)
    return std::max(state.quorum->PushesWanted(state.roster.size()), 1u);
  const uint32_t may_arrive = counts.waited_for + state.round.distinct;
  const uint32_t k = state.quorum->PushesWanted(may_arrive + counts.silent + counts.sat_out);
  return std::min(std::max(k, 1u), may_arrive);
}

void CloseRound(Turn turn) {
  EngineState& state = turn.state;
  std::vector<Round::Staged>& staged = state.round.staged;
  std::sort(staged.begin(), staged.end(),
            [](const auto& a, const auto& b) { return a.worker < b.worker; });
  for (const Round::Staged& push : staged)
    turn.decisions.push_back(Accumulate{push.worker, push.sequence, push.weight});
  turn.decisions.push_back(CommitOf(state));
  if (state.at.HasRounds()) state.sizer->StepClosed();
  state.quorum->Observe(StepClosed{state.round.pushes}, turn.now);
  state.pushes_a_version = state.round.pushes;
  state.version = state.version.Next();
  NoteEnd(state, turn.now);
  OpenRound(turn);
}

void DropStaged(Turn turn) {
  Round& round = turn.state.round;
  for (const Round::Staged& push : std::exchange(round.staged, {})) {
    turn.decisions.push_back(Drop{push.worker, push.sequence, DropReason::kQuiescing});
    --round.pushes;
  }
}

void Settle(Turn turn) {
  EngineState& state = turn.state;
  std::vector<WorkerId> news;
  if (!state.round.is_out_of_time) ElectIfDue(state);
  if (IsRoundOver(state)) {
    news = Busy(state);
    CloseRound(turn);
    ElectIfDue(state);
  } else if (state.at.IsStrict() && state.round.pushes == 0 && state.roster.counts().busy == 0) {
    // Nothing to wait for and nothing to commit: the round begins anew on the same version.
    OpenRound(turn);
  }
  if (!state.at.reach) {
    FindSlowest(state);
    WakeParked(state);
  }
  ShareOutIfDue(turn);
  SendOnDue(turn);
  CallFromLine(turn);
  if (std::exchange(state.is_beginning_told, false)) TellBegan(turn);
  for (const WorkerId busy : news) SendNews(turn, busy);
  if (!IsDeserted(state)) return;
  CloseRound(turn);
  Settle(turn);
}

void TellBegan(Turn turn) {
  EngineState& state = turn.state;
  TakeQuorumIfDue(state);
  StepBegan began{.version = state.version};
  for (const Member& member : state.roster.members()) {
    if (member.standing().owed == 0) continue;
    ++began.members;
    if (!member.standing().is_missing && member.non_finite.in_a_row == 0) ++began.workers;
  }
  state.quorum->Observe(began, turn.now);
}

}  // namespace paceline::sync
