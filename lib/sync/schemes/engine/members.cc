#include "lib/sync/schemes/engine/members.h"

#include <algorithm>

#include "lib/sync/schemes/engine/sending.h"

namespace paceline::sync {
namespace {

// What it has staged goes with it; what is accumulated stays.
void Remove(Turn turn, Member& member) {
  EngineState& state = turn.state;
  const WorkerId worker = member.id;
  Round& round = state.round;
  std::erase_if(round.staged, [&](const Round::Staged& push) {
    if (push.worker != worker) return false;
    turn.decisions.push_back(Drop{push.worker, push.sequence, DropReason::kWorkerLeft});
    --round.pushes;
    --round.distinct;  // Who stages pushes once a round.
    round.samples -= push.samples;
    return true;
  });
  state.roster.Remove(member);
  if (state.designated == worker) state.designated.reset();
  if (state.at.modulation.rule == Modulation::kProgressGap) state.pace.Leave(worker);
  state.sizer->Left(worker);
  state.is_sharing_due = true;
  state.quorum->Observe(WorkerForgotten{worker}, turn.now);
}

// A step that no version waits for any more holds samples that somebody wants now.
void InterruptOvertaken(Turn turn) {
  EngineState& state = turn.state;
  // They were told at the commit.
  const bool is_told = state.at.news == LateWorker::kInterrupt;
  if (state.phase != EnginePhase::kRunning || !state.at.IsStrict() || is_told) return;
  for (Member& member : state.roster.members()) {
    if (member.standing().owed == 0 || !member.only_for || *member.only_for >= state.version)
      continue;
    member.only_for.reset();
    turn.decisions.push_back(Interrupt{member.id});
  }
}

}  // namespace

void OnJoined(Turn turn, const WorkerJoined& joined) {
  EngineState& state = turn.state;
  if (Member* const former = state.roster.Find(joined.worker)) Remove(turn, *former);
  const uint64_t clock = state.roster.LeastClock().value_or(state.slowest);
  // Who makes local steps works on the running version at once, and is waited for from the next
  // round on.
  Member& member =
      state.roster.Add(joined.worker, {.is_counted = !state.at.IsLocal(), .clock = clock});
  member.is_held = state.at.IsStrict();
  (member.is_held ? state.held : state.due).push_back(joined.worker);
  state.sizer->Joined(joined.worker);
  state.is_sharing_due = true;
  if (state.at.modulation.rule == Modulation::kProgressGap) state.pace.Join(joined.worker);
  if (state.phase == EnginePhase::kOpening) ++state.joins;
}

void OnLeft(Turn turn, const WorkerLeft& left) {
  if (Member* const member = turn.state.roster.Find(left.worker)) Remove(turn, *member);
}

void OnAbandoned(Turn turn, const StepAbandoned& abandoned) {
  EngineState& state = turn.state;
  Member* const member = state.roster.Find(abandoned.worker);
  if (member == nullptr || member->standing().owed == 0) return;
  if (abandoned.reason == AbandonReason::kOutOfMemory) {
    member->samples_max = std::max<uint32_t>(1, abandoned.samples_fit);
    state.sizer->RanOutOfMemory(abandoned.worker, member->samples_max);
    state.is_sharing_due = true;
  }
  state.roster.Change(*member, [](Standing& standing) { --standing.owed; });
  if (state.phase == EnginePhase::kOver) return;
  if (state.at.IsStrict()) return SendOn(turn, *member);
  state.due.push_back(abandoned.worker);
}

void OnOutOfData(Turn turn, const OutOfData& out) {
  EngineState& state = turn.state;
  state.samples_left = 0;
  Member* const member = state.roster.Find(out.worker);
  if (member == nullptr || member->standing().owed == 0) return;
  state.roster.Change(*member, [](Standing& standing) {
    --standing.owed;
    standing.is_starved = true;
  });
  // If it was a release that found nothing, the worker never heard of its version.
  member->local.on.reset();
  state.due.push_back(out.worker);
  InterruptOvertaken(turn);
}

void ExpelMember(Turn turn, Member& member) {
  turn.decisions.push_back(Expel{member.id, ExpelReason::kNonFiniteRepeatedly});
  Remove(turn, member);
}

}  // namespace paceline::sync
