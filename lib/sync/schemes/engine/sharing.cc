#include "lib/sync/schemes/engine/sharing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline::sync {
namespace {

// A part that has become larger or smaller by so much of itself, and by more than what rounding
// does, takes another time.
constexpr double kOtherSize = 0.2;
constexpr double kRounding = 1;

bool IsSized(const EngineState& state) { return state.spec.sizing.strategy != Sizing::kEqual; }

bool AreSomeGone(const EngineState& state) {
  const uint32_t silent = state.roster.counts().silent;
  return silent > 0 && 2 * silent <= state.roster.size();
}

bool HasPart(const EngineState& state, const Member& member) {
  const bool is_silent = member.standing().is_missing && member.standing().owed > 0;
  return !is_silent || !AreSomeGone(state);
}

}  // namespace

bool HasShares(const EngineState& state) {
  return state.at.IsStrict() || IsSized(state) || AreSomeGone(state);
}

void ShareOut(Turn turn) {
  EngineState& state = turn.state;
  std::vector<WorkerId> workers;
  workers.reserve(state.roster.size());
  for (const Member& member : state.roster.members()) {
    if (HasPart(state, member)) workers.push_back(member.id);
  }
  const std::vector<uint32_t> shares = state.sizer->ShareOut(workers);
  bool has_changed = false;
  state.shared = {.members = static_cast<uint32_t>(workers.size()),
                  .silent = state.roster.counts().silent};
  auto next = shares.begin();
  for (Member& member : state.roster.members()) {
    if (!HasPart(state, member)) continue;
    const uint32_t share = *next++;
    const double before = std::exchange(member.share, share);
    state.shared.samples += std::min(share, member.samples_max);
    has_changed |=
        !member.is_new && std::abs(share - before) > std::max(kOtherSize * before, kRounding);
  }
  if (has_changed) state.quorum->Observe(SizesChanged{}, turn.now);
}

void ShareOutIfDue(Turn turn) {
  EngineState& state = turn.state;
  const uint32_t silent = state.roster.counts().silent;
  const bool are_others = std::exchange(state.shared.silent, silent) != silent;
  if (!std::exchange(state.is_sharing_due, false) && !are_others) return;
  if (HasShares(state) && !state.at.IsStrict()) ShareOut(turn);
}

void NoteSweep(EngineState& state) {
  if (state.at.HasRounds() || !IsSized(state)) return;
  if (++state.swept < state.roster.size()) return;
  state.swept = 0;
  state.sizer->StepClosed();
  state.sizer->StepPublished();
  state.is_sharing_due = true;
}

bool HoldsPartOf(const EngineState& state, uint32_t k) {
  if (!IsSized(state) || state.at.Kind() == PushKind::kDelta || !state.at.HasRounds()) return true;
  if (state.shared.members == 0) return true;
  const double part = state.shared.samples * k / state.shared.members;
  return state.round.samples + k >= part;  // Each share was rounded.
}

}  // namespace paceline::sync
