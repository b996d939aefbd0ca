#include "lib/sync/schemes/meanwhile/local_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/sync/schemes/engine/sending.h"
#include "lib/sync/schemes/newest_mean.h"

namespace paceline::sync {
namespace {

// Leases of one worker where pushes travel while it computes: of the step that it makes, and of the
// next, which it begins while the first one's push is under way. One more each time that it had to
// stand still: its pushes take longer than its steps, and are to carry several. While one of them
// is under way, a worker that has no lease says that it communicates.
constexpr uint32_t kLeasesMax = 8;
constexpr double kStillShareMax = 0.1;  // Of its time computing.

Assignment LocalAssignment(const EngineState& state, const Member& member) {
  const WbspKnobs& knobs = state.at.local;
  Assignment assignment = AssignmentOf(state, member);
  assignment.pacing = knobs.is_overlapped ? Pacing::kOverlapped : Pacing::kKeepGoing;
  assignment.on_pull = knobs.on_pull;
  assignment.momentum_on_pull = knobs.momentum_on_pull;
  return assignment;
}

}  // namespace

bool HasData(const Member& member) {
  const Standing& standing = member.standing();
  return standing.owed > 0 || standing.pushes > 0 || !standing.is_starved;
}

void SendOnLocal(Turn turn, Member& member) {
  EngineState& state = turn.state;
  LocalProgress& local = member.local;
  const uint32_t leases = state.at.local.is_overlapped ? local.leases : 1;
  while (member.standing().owed < leases &&
         local.steps + member.standing().owed < state.at.local.local_steps_max) {
    if (IsStuck(state, member)) return;
    const bool is_behind = !local.on || *local.on < state.version;
    // It was offered the version, or will be.
    if (is_behind && member.standing().owed > 0) return;
    // What comes with a version that is not published yet must not come before it.
    if (!is_behind && *local.on > state.published) return state.unpublished.push_back(member.id);
    const Assignment assignment = LocalAssignment(state, member);
    if (is_behind) {
      turn.decisions.push_back(
          Release{.worker = member.id, .version = state.version, .assignment = assignment});
      local.on = state.version;
      ++local.pulls;
    } else {
      turn.decisions.push_back(Continue{member.id, assignment});
    }
    state.roster.Change(member, [](Standing& standing) {
      ++standing.owed;
      standing.is_starved = false;
    });
    UseUp(state, assignment);
    member.is_new = false;
  }
}

void MeasureLocal(const PushArrived& push, Member& member) {
  LocalProgress& local = member.local;
  ++local.pushes;
  local.total.compute += push.timing.compute;
  local.total.wait += push.timing.wait;
  local.total.communication += push.timing.communication;
  local.delta_norm = std::sqrt(push.gradient.squared_norm);
  local.step_seconds =
      Mixed(local.step_seconds, ToSeconds(push.timing.compute) / std::max(push.steps, 1u));
  const bool was_starved = ToSeconds(push.timing.wait + push.timing.communication) >
                           kStillShareMax * ToSeconds(push.timing.compute);
  if (was_starved && local.leases < kLeasesMax) ++local.leases;
}

double WeightOfRound(const EngineState& state, const Member& member) {
  const double equal = 1.0 / state.round.members;
  const bool is_known = member.local.mean_steps > 0 && state.round.mean_steps > 0;
  if (!state.at.local.is_normalised || !is_known) return equal;
  return equal * state.round.mean_steps / member.local.mean_steps;
}

// Who let the last round run out of time is waited for again once it has pushed.
void OpenLocalRound(Turn turn) {
  EngineState& state = turn.state;
  uint32_t members = 0, measured = 0;
  double steps = 0;
  for (Member& member : state.roster.members()) {
    LocalProgress& local = member.local;
    local.steps_last_round = std::exchange(local.steps, 0);
    if (member.standing().is_counted && local.steps_last_round > 0)
      local.mean_steps = Mixed(local.mean_steps, local.steps_last_round);
    state.roster.Change(member,
                        [](Standing& standing) { standing.is_counted = !standing.is_missing; });
    if (!member.standing().is_counted || !HasData(member)) continue;
    ++members;
    steps += local.mean_steps;
    if (local.mean_steps > 0) ++measured;
  }
  state.round.members = std::max(members, 1u);
  state.round.mean_steps = steps / std::max(measured, 1u);
  state.seen.round_began = turn.now;
}

void OfferLocal(Turn turn) {
  EngineState& state = turn.state;
  for (Member& member : state.roster.members()) {
    LocalProgress& local = member.local;
    if (member.standing().owed == 0 || !local.on || *local.on >= state.published) continue;
    local.on = state.published;
    ++local.pulls;
    turn.decisions.push_back(Offer{member.id, state.published});
    state.due.push_back(member.id);
  }
}

}  // namespace paceline::sync
