#include "lib/sync/schemes/engine/designated.h"

#include "lib/sync/schemes/meanwhile/local_steps.h"

namespace paceline::sync {
namespace {

bool MayEndRound(const Member& member) { return member.standing().is_counted && HasData(member); }

void Elect(EngineState& state) {
  state.designated.reset();
  state.rounds_since_election = 0;
  double slowest = 0;
  for (const Member& member : state.roster.members()) {
    if (!MayEndRound(member)) continue;
    if (member.local.step_seconds == 0) return state.designated.reset();
    if (member.local.step_seconds <= slowest) continue;
    slowest = member.local.step_seconds;
    state.designated = member.id;
  }
}

}  // namespace

void ElectIfDue(EngineState& state) {
  if (state.at.local.trigger != RoundTrigger::kDesignated) return;
  if (state.designated) {
    const Member* const member = state.roster.Find(*state.designated);
    if (member != nullptr && MayEndRound(*member)) return;
  }
  Elect(state);
}

std::optional<bool> IsDesignatedAwaited(const EngineState& state) {
  if (!state.designated) return std::nullopt;
  const Member* const member = state.roster.Find(*state.designated);
  if (member == nullptr) return false;
  const Standing& standing = member->standing();
  return standing.is_counted && standing.pushes == 0 && standing.owed > 0;
}

}  // namespace paceline::sync
