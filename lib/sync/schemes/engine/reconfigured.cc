#include "lib/sync/schemes/engine/reconfigured.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/check.h"
#include "lib/sync/schemes/batching/make_sizer.h"
#include "lib/sync/schemes/batching/saved_sizing.h"
#include "lib/sync/schemes/engine/sharing.h"
#include "lib/sync/schemes/make_quorum.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::sync {
namespace {

// Made by `make`, of what was learnt if it can use that.
template <class Make>
auto MadeOf(std::string& learnt, const std::string& newest, Make make) {
  if (!newest.empty()) learnt = newest;
  auto made = make(learnt);
  if (!made.ok()) made = make(std::string());
  PACELINE_CHECK(made.ok(), "the spec was valid: {}", Message(made.status()));
  return *std::move(made);
}

void TakeQuorum(EngineState& state) {
  state.is_quorum_due = false;
  state.quorum = Cloned<Quorum>(
      MadeOf(state.learnt.quorum, state.quorum->Save(),
             [&](const std::string& saved) { return MakeQuorum(state.spec, saved); }));
}

void TakeSizer(EngineState& state) {
  const std::string saved = state.sizer->Save();
  // A worker whose limit is saved may have left. A sizer without limits did not see it leave, and
  // the next sizer would give its limit to the worker that joins in its place.
  const auto stays = [&](WorkerId worker) {
    return !saved.empty() && state.roster.Find(worker) != nullptr;
  };
  const std::string newest = WithLimitsOf(saved, stays);
  state.learnt.sizing = WithLimitsOf(state.learnt.sizing, stays);
  state.sizer =
      Cloned<BatchSizer>(MadeOf(state.learnt.sizing, newest, [&](const std::string& saved) {
        return MakeSizer(SizerOptionsOf(state.spec), saved);
      }));
  for (const Member& member : state.roster.members()) {
    state.sizer->Joined(member.id);
    if (member.samples_max < UINT32_MAX) state.sizer->RanOutOfMemory(member.id, member.samples_max);
  }
}

bool IsNarrower(const std::optional<uint64_t>& reach, const std::optional<uint64_t>& than) {
  return reach && (!than || *reach < *than);
}

void TakeReach(EngineState& state, const Coordinates& before) {
  if (!IsNarrower(state.at.reach, before.reach)) return;
  std::erase_if(state.former_reaches,
                [&](const FormerReach& former) { return !IsNarrower(before.reach, former.reach); });
  state.former_reaches.push_back({before.reach, state.version});
}

// Who is held joins the open round.
void FreeHeld(EngineState& state) {
  for (const WorkerId worker : std::exchange(state.held, {})) {
    Member* const member = state.roster.Find(worker);
    if (member == nullptr) continue;
    member->is_held = false;
    state.roster.Change(*member, [](Standing& standing) { standing.has_sat_out = false; });
  }
}

}  // namespace

void TakeQuorumIfDue(EngineState& state) {
  if (state.is_quorum_due) TakeQuorum(state);
}

void OnReconfigured(Turn turn, const PolicySpec& spec) {
  EngineState& state = turn.state;
  const PolicySpec from = std::exchange(state.spec, spec);
  const Coordinates before = std::exchange(state.at, CoordinatesOf(spec));
  TakeReach(state, before);
  if (state.at.local.trigger != before.local.trigger) state.designated.reset();
  if (before.modulation.rule != Modulation::kProgressGap) state.pace = Pace();
  if (before.modulation.rule != state.at.modulation.rule) {
    for (const Member& member : state.roster.members()) state.pace.Join(member.id);
  }
  if (!IsSameQuorum(from, spec)) {
    state.is_quorum_due = true;
    if (!DoesQuorumLearn(spec)) TakeQuorum(state);
  }
  const bool is_other_sizer = SizerOptionsOf(from) != SizerOptionsOf(spec);
  if (is_other_sizer) TakeSizer(state);
  if (!state.at.IsStrict()) FreeHeld(state);
  if (state.phase != EnginePhase::kRunning) return;
  state.is_sharing_due = true;
  if (state.at.IsStrict() && (is_other_sizer || !before.IsStrict())) ShareOut(turn);
  if (!before.HasRounds() && state.at.HasRounds()) {
    state.round.members = std::max(state.roster.size(), 1u);
    state.is_beginning_told = state.version <= state.published;
  }
  for (Member& member : state.roster.members()) {
    state.due.push_back(member.id);
    if (!state.at.IsStrict()) member.only_for.reset();
  }
}

}  // namespace paceline::sync
