#include "lib/sync/schemes/meanwhile/wait.h"

#include "lib/sync/schemes/engine/sending.h"

namespace paceline::sync {

void SendOnWaiting(Turn turn, Member& member) {
  EngineState& state = turn.state;
  if (member.standing().owed > 0 || member.standing().pushes > 0) return;
  if (IsStuck(state, member) || IsStopped(state, member)) return;
  turn.decisions.push_back(
      Release{.worker = member.id,
              .version = state.version,
              .exactness = state.at.HasRounds() ? Exactness::kExact : Exactness::kAtLeast,
              .assignment = AssignmentOf(state, member)});
  state.roster.Change(member, [](Standing& standing) {
    standing.owed = 1;
    standing.is_starved = standing.is_missing = false;
  });
  member.looked = state.roster.generation();
  member.is_new = false;
}

}  // namespace paceline::sync
