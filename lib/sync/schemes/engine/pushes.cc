#include "lib/sync/schemes/engine/pushes.h"

#include <algorithm>

#include "lib/sync/schemes/engine/members.h"
#include "lib/sync/schemes/engine/rounds.h"
#include "lib/sync/schemes/engine/sending.h"
#include "lib/sync/schemes/engine/sharing.h"
#include "lib/sync/schemes/meanwhile/local_steps.h"

namespace paceline::sync {
namespace {

void DropPush(Turn turn, const PushArrived& push, DropReason reason) {
  turn.decisions.push_back(Drop{push.worker, push.sequence, reason});
}

// In strict rounds a member that has nothing in the open one goes on at once, and is waited for.
void TryAgain(Turn turn, Member& member) {
  if (turn.state.at.IsStrict()) return SendOn(turn, member);
  turn.state.due.push_back(member.id);
}

void RollBackAll(Turn turn) {
  DropStaged(turn);
  turn.decisions.push_back(RollBack{.reason = RollBackReason::kNonFinite});
  turn.state.phase = EnginePhase::kOver;
}

// Of more than half of the members the latest push was not finite: it is not they who are ill. A
// push on a version on which, or on a later one, another one was finite says nothing of the model.
bool IsModelIll(const EngineState& state) {
  const std::vector<Member>& members = state.roster.members();
  const auto ill = std::count_if(members.begin(), members.end(), [&](const Member& member) {
    const NonFinitePushes& pushes = member.non_finite;
    return pushes.in_a_row > 0 && (!state.finite_on || pushes.on > *state.finite_on);
  });
  return 2 * static_cast<size_t>(ill) > members.size();
}

// A late push says nothing about the running round; a timely one's worker sits it out.
void OnNonFiniteOfRound(Turn turn, const PushArrived& push, Member& member) {
  EngineState& state = turn.state;
  const bool is_late = push.based_on < state.version;
  if (!is_late) {
    member.is_held = true;
    state.held.push_back(member.id);
    state.roster.Change(member, [](Standing& standing) { standing.has_sat_out = true; });
    if (2 * state.roster.counts().sat_out > state.roster.size()) return RollBackAll(turn);
  }
  if (member.non_finite.in_a_row >= kNonFiniteInARowMax) {
    ExpelMember(turn, member);
  } else if (is_late) {
    SendOn(turn, member);
  }
}

void OnNonFinite(Turn turn, const PushArrived& push, Member& member) {
  DropPush(turn, push, DropReason::kNonFinite);
  // Its copy is of no use any more: a release, not a continuation.
  member.local.on.reset();
  // Other samples may do in the same step.
  if (push.gradient.is_excused) return TryAgain(turn, member);
  ++member.non_finite.in_a_row;
  member.non_finite.on = push.based_on;
  if (turn.state.at.IsStrict()) return OnNonFiniteOfRound(turn, push, member);
  if (IsModelIll(turn.state)) return RollBackAll(turn);
  if (member.non_finite.in_a_row >= kNonFiniteInARowMax) return ExpelMember(turn, member);
  TryAgain(turn, member);
}

uint64_t Behind(const EngineState& state, const PushArrived& push) {
  return push.based_on < state.version ? state.version.value() - push.based_on.value() : 0;
}

// A delta was shrunk by its worker.
double DecayOf(const EngineState& state, const PushArrived& push) {
  if (state.at.modulation.rule == Modulation::kNone) return 1;
  Lateness lateness;
  lateness.missed = Behind(state, push) * state.pushes_a_version;
  lateness.workers = state.roster.size();
  if (state.at.modulation.rule == Modulation::kProgressGap)
    lateness.pace = state.pace.Of(push.worker);
  return LearningRateScale(state.at.modulation, lateness);
}

double WeightOf(const EngineState& state, const PushArrived& push, const Member& member) {
  if (state.at.Kind() == PushKind::kGradient) return push.samples * DecayOf(state, push);
  if (state.at.step == StepScale::kFull) return 1;
  if (!state.at.HasRounds()) return 1.0 / state.roster.size();
  return WeightOfRound(state, member);
}

void Contribute(Turn turn, const PushArrived& push, Member& member) {
  EngineState& state = turn.state;
  Round& round = state.round;
  const double weight = WeightOf(state, push, member);
  const bool is_first = member.standing().pushes == 0;
  if (state.at.is_deterministic) {
    round.staged.push_back({push.worker, push.sequence, weight, push.samples});
  } else {
    turn.decisions.push_back(Accumulate{push.worker, push.sequence, weight});
  }
  ++round.pushes;
  round.samples += push.samples;
  if (is_first) {
    ++round.distinct;
    round.contributors.push_back(member.id);
  }
  state.roster.Change(member, [](Standing& standing) {
    ++standing.pushes;
    ++standing.clock;
  });
  ++member.own_since_release;
  member.local.steps += push.steps;
  state.seen.last_pusher = push.worker;
  if (state.at.modulation.rule == Modulation::kProgressGap) state.pace.Step(push.worker);
  NoteSweep(state);
  if (!is_first) return;
  state.quorum->Observe(PushCounted{.worker = push.worker,
                                    .rank = round.distinct,
                                    .samples = push.samples,
                                    .timing = push.timing,
                                    .gradient = push.gradient},
                        turn.now);
}

bool IsInReach(const EngineState& state, const PushArrived& push) {
  const auto is_within = [&](const std::optional<uint64_t>& reach) {
    return !reach || Behind(state, push) <= *reach;
  };
  if (is_within(state.at.reach)) return true;
  return std::ranges::any_of(state.former_reaches, [&](const FormerReach& former) {
    return push.based_on <= former.until && is_within(former.reach);
  });
}

// A push of the round before was only not waited for.
DropReason ReasonToDrop(const EngineState& state, uint64_t behind) {
  const bool is_superseded = state.at.IsStrict() || (state.at.reach == uint64_t{0} && behind == 1);
  return is_superseded ? DropReason::kSuperseded : DropReason::kTooStale;
}

}  // namespace

void OnPush(Turn turn, const PushArrived& push) {
  EngineState& state = turn.state;
  Member* const member = state.roster.Find(push.worker);
  if (member == nullptr) return DropPush(turn, push, DropReason::kWorkerLeft);
  if (state.phase == EnginePhase::kOver) return DropPush(turn, push, DropReason::kQuiescing);
  if (member->standing().owed == 0) return DropPush(turn, push, DropReason::kSuperseded);
  state.roster.Change(*member, [&](Standing& standing) {
    standing.owed -= std::min(standing.owed, push.steps);
    standing.is_missing = false;
  });
  member->is_unanswered = true;
  member->last = push.sequence;
  const bool is_empty = push.gradient.is_empty;
  if (state.at.meanwhile == Meanwhile::kLocalSteps && !is_empty) MeasureLocal(push, *member);
  if (!push.gradient.is_finite) return OnNonFinite(turn, push, *member);
  if (!is_empty) {
    member->non_finite.in_a_row = 0;
    state.finite_on = std::max(state.finite_on.value_or(push.based_on), push.based_on);
    state.sizer->Arrived(push);
  }
  const uint64_t behind = Behind(state, push);
  if (behind == 1) ++state.seen.late_pushes;
  if (IsInReach(state, push)) {
    Contribute(turn, push, *member);
    return state.due.push_back(member->id);
  }
  DropPush(turn, push, ReasonToDrop(state, behind));
  if (!is_empty)
    state.quorum->Observe(PushLate{push.worker, push.based_on, push.samples, push.timing},
                          turn.now);
  TryAgain(turn, *member);
}

}  // namespace paceline::sync
