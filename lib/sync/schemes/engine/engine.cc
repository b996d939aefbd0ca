#include "lib/sync/schemes/engine/engine.h"

#include <utility>

#include "lib/base/overloaded.h"
#include "lib/sync/schemes/engine/members.h"
#include "lib/sync/schemes/engine/pushes.h"
#include "lib/sync/schemes/engine/reconfigured.h"
#include "lib/sync/schemes/engine/rounds.h"
#include "lib/sync/schemes/meanwhile/local_steps.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::sync {
namespace {

void OnCommitted(Turn turn, const StepCommitted& committed) {
  EngineState& state = turn.state;
  state.published = std::max(state.published, committed.version);
  state.quorum->Observe(committed, turn.now);
  state.due.insert(state.due.end(), state.unpublished.begin(), state.unpublished.end());
  state.unpublished.clear();
  const bool is_running = state.phase == EnginePhase::kRunning;
  if (is_running && state.at.IsLocal() && state.at.local.is_overlapped) OfferLocal(turn);
  if (committed.version != state.version || !state.at.HasRounds()) return;
  state.sizer->StepPublished();
  if (is_running) TellBegan(turn);
}

// As lost, but for this round only: whether they are is coordination's to say.
void OnDeadline(Turn turn, std::optional<Time> deadline) {
  EngineState& state = turn.state;
  if (!deadline || turn.now < *deadline) return;
  const bool is_strict = state.at.IsStrict();
  SilentGivenUp given_up;
  for (Member& member : state.roster.members()) {
    const Standing& standing = member.standing();
    const bool is_other = state.designated && *state.designated != member.id;
    const bool is_open = standing.is_counted && standing.pushes == 0 && !is_other;
    if (standing.owed == 0 || !(is_strict || is_open)) continue;
    ++member.local.timeouts;
    given_up.workers.push_back(member.id);
    state.roster.Change(member, [&](Standing& changed) {
      changed.is_missing = true;
      changed.is_counted = !state.at.IsLocal();
    });
  }
  state.round.is_out_of_time = state.at.IsLocal();
  state.quorum->Observe(given_up, turn.now);
}

// What is accumulated cannot be taken back, so it is published; what is only staged is given back.
void OnQuiesce(Turn turn) {
  EngineState& state = turn.state;
  if (state.phase == EnginePhase::kOver) return;
  DropStaged(turn);
  if (state.round.pushes > 0) CloseRound(turn);
  state.phase = EnginePhase::kOver;
}

// Half for each, if both want some.
void OnSpare(Turn turn, const Spare& spare) {
  EngineState& state = turn.state;
  const bool is_shared = state.quorum->WantsSpare() && state.sizer->WantsSpare();
  const uint32_t budget = is_shared ? spare.budget / 2 : spare.budget;
  state.quorum->Observe(Spare{budget}, turn.now);
  state.sizer->UseSpare(budget);
}

}  // namespace

Engine::Engine(const PolicySpec& spec, std::unique_ptr<Quorum> quorum,
               std::unique_ptr<BatchSizer> sizer)
    : state_{.spec = spec,
             .at = CoordinatesOf(spec),
             .quorum = Cloned<Quorum>(std::move(quorum)),
             .sizer = Cloned<BatchSizer>(std::move(sizer)),
             .version = spec.first_version,
             .published = spec.first_version} {}

void Engine::Observe(const Event& event, Time now, std::vector<Decision>& decisions) {
  const Turn turn{state_, now, decisions};
  std::visit(Overloaded{[&](const WorkerJoined& e) { OnJoined(turn, e); },
                        [&](const WorkerLeft& e) { OnLeft(turn, e); },
                        [&](const PushArrived& e) { OnPush(turn, e); },
                        [&](const StepAbandoned& e) { OnAbandoned(turn, e); },
                        [&](const StepCommitted& e) { OnCommitted(turn, e); },
                        [&](const DeadlineReached&) { OnDeadline(turn, Deadline()); },
                        [&](const OutOfData& e) { OnOutOfData(turn, e); },
                        [&](const SamplesReturned& e) { state_.samples_left = e.samples; },
                        [&](const Quiesce&) { OnQuiesce(turn); },
                        [&](const Spare& e) { OnSpare(turn, e); },
                        [&](const Reconfigured& e) { OnReconfigured(turn, e.spec); }},
             event);
  if (state_.phase == EnginePhase::kOpening && state_.joins >= state_.spec.workers_expected) {
    state_.phase = EnginePhase::kRunning;
    // A strict one is opened once nobody is busy, which is so now.
    if (!state_.at.IsStrict()) OpenRound(turn);
  }
  if (state_.phase == EnginePhase::kRunning) Settle(turn);
}

std::optional<Time> Engine::Deadline() const {
  return state_.phase == EnginePhase::kRunning ? state_.quorum->Deadline() : std::nullopt;
}

bool Engine::WantsSpare() const {
  return state_.quorum->WantsSpare() || state_.sizer->WantsSpare();
}

}  // namespace paceline::sync
