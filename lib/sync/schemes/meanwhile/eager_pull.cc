#include "lib/sync/schemes/meanwhile/eager_pull.h"

#include <algorithm>

#include "lib/sync/schemes/engine/sending.h"

namespace paceline::sync {
namespace {

// The step that it makes, and the next one.
constexpr uint32_t kLeasesMax = 2;

// The step in flight was computed on what the worker was last released on, the next push is that
// step's: how many updates of others came between is known before it is sent. By the time it is
// applied it will be about twice as many.
double ScaleOfNextPush(const EngineState& state, const Member& member) {
  const bool is_in_flight = member.released && member.standing().owed > 0;
  if (!is_in_flight) return 1;
  const uint64_t updates =
      (state.version.value() - member.released->value()) * state.pushes_a_version;
  Lateness lateness;
  lateness.missed = updates - std::min(updates, member.own_since_release);
  lateness.workers = state.roster.size();
  if (state.at.modulation.rule == Modulation::kProgressGap)
    lateness.pace = state.pace.Of(member.id);
  return LearningRateScale(state.at.modulation, lateness);
}

}  // namespace

// What the worker waits for is a release; leases alone do where it has had its answer and computes.
// A release that found no samples may not have reached it.
void SendOnEager(Turn turn, Member& member) {
  EngineState& state = turn.state;
  if (member.standing().owed >= kLeasesMax) return;
  // A push in an open round has no answer yet.
  if (state.at.HasRounds() && member.standing().pushes > 0) return;
  if (IsStuck(state, member) || IsStopped(state, member)) return;
  Assignment assignment = AssignmentOf(state, member);
  assignment.pacing = Pacing::kEagerPull;
  assignment.depth = state.at.depth;
  uint32_t owed = member.standing().owed;
  if (member.is_unanswered || member.standing().is_starved || owed == 0) {
    member.scale = ScaleOfNextPush(state, member);
    assignment.learning_rate_scale = member.scale;
    turn.decisions.push_back(
        Release{member.id, state.version, Exactness::kAtLeast, member.last, assignment});
    member.released = state.version;
    member.own_since_release = 0;
    member.is_unanswered = false;
    UseUp(state, assignment);
    ++owed;
  }
  assignment.learning_rate_scale = member.scale;
  for (; owed < kLeasesMax; ++owed) {
    turn.decisions.push_back(Continue{member.id, assignment});
    UseUp(state, assignment);
  }
  state.roster.Change(member, [&](Standing& standing) {
    standing.owed = owed;
    standing.is_starved = standing.is_missing = false;
  });
  member.is_new = false;
}

}  // namespace paceline::sync
