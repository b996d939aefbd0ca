#include "lib/sync/schemes/engine/sending.h"

#include <algorithm>
#include <utility>

#include "lib/sync/schemes/engine/sharing.h"
#include "lib/sync/schemes/equal_share.h"
#include "lib/sync/schemes/meanwhile/eager_pull.h"
#include "lib/sync/schemes/meanwhile/go_on.h"
#include "lib/sync/schemes/meanwhile/local_steps.h"
#include "lib/sync/schemes/meanwhile/wait.h"

namespace paceline::sync {

void SendOn(Turn turn, Member& member) {
  if (member.is_held) return;
  turn.state.roster.Unpark(member);
  switch (turn.state.at.meanwhile) {
    case Meanwhile::kWait:
      return SendOnWaiting(turn, member);
    case Meanwhile::kGoOn:
      return SendOnAtOnce(turn, member);
    case Meanwhile::kLocalSteps:
      return SendOnLocal(turn, member);
    case Meanwhile::kEagerPull:
      return SendOnEager(turn, member);
  }
}

bool IsStuck(EngineState& state, Member& member) {
  if (!member.standing().is_starved || state.samples_left > 0) return false;
  if (!std::exchange(member.is_in_line, true)) state.line.push_back(member.id);
  return true;
}

bool IsStopped(EngineState& state, Member& member) {
  if (state.at.reach) return false;
  Roster& roster = state.roster;
  if (!Roster::HasClock(member.standing()) && member.standing().clock < state.slowest)
    roster.Change(member, [&](Standing& standing) { standing.clock = state.slowest; });
  if (state.at.window.Admits(member.standing().clock, state.slowest)) return false;
  roster.Park(member);
  return true;
}

Assignment AssignmentOf(const EngineState& state, const Member& member) {
  const Roster& roster = state.roster;
  const uint32_t share = HasShares(state) ? member.share
                                          : EqualShare(state.spec.global_batch_size, roster.size(),
                                                       roster.RankOf(member));
  return {.samples = std::min(share, member.samples_max)};
}

void UseUp(EngineState& state, const Assignment& assignment) {
  state.samples_left -= std::min<uint64_t>(state.samples_left, assignment.samples);
}

// Whoever is gone, or has been sent on since, is passed over.
Member* FirstInLine(EngineState& state) {
  for (; !state.line.empty(); state.line.pop_front()) {
    Member* const member = state.roster.Find(state.line.front());
    if (member == nullptr || !member->is_in_line) continue;
    if (member->standing().is_starved) return member;
    member->is_in_line = false;
  }
  return nullptr;
}

void CallFromLine(Turn turn) {
  EngineState& state = turn.state;
  while (state.samples_left > 0) {
    Member* const member = FirstInLine(state);
    if (member == nullptr) return;
    state.line.pop_front();
    member->is_in_line = false;
    SendOn(turn, *member);
  }
}

void ReleaseToWait(Turn turn, Member& member) {
  EngineState& state = turn.state;
  const Assignment assignment = AssignmentOf(state, member);
  turn.decisions.push_back(
      Release{.worker = member.id,
              .version = state.version,
              .exactness = state.at.reach ? Exactness::kExact : Exactness::kAtLeast,
              .assignment = assignment});
  UseUp(state, assignment);
  state.roster.Change(member, [](Standing& standing) {
    standing.owed = 1;
    standing.is_starved = standing.is_missing = false;
  });
  member.is_new = false;
  member.only_for.reset();
  if (state.at.IsStrict()) member.only_for = state.version;
}

}  // namespace paceline::sync
