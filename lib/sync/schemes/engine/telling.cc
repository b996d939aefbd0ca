// What the engine tells people, keeps for its next life, and shows tests.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lib/sync/schemes/engine/designated.h"
#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/schemes/engine/rounds.h"
#include "lib/sync/schemes/engine/sharing.h"
#include "lib/sync/schemes/saved_pair.h"

namespace paceline::sync {
namespace {

void TellEager(const EngineState& state, std::vector<Figure>& figures) {
  uint64_t fastest = state.slowest;
  uint32_t parked = 0;
  for (const Member& member : state.roster.members()) {
    figures.push_back({&kLearningRateScale, member.scale, ToString(member.id)});
    if (member.is_unanswered) ++parked;
    if (Roster::HasClock(member.standing())) fastest = std::max(fastest, member.standing().clock);
  }
  figures.push_back({&kParkedReplies, static_cast<double>(parked)});
  figures.push_back({&kProgressGap, static_cast<double>(fastest - state.slowest)});
}

void TellLocalMember(const Member& member, std::vector<Figure>& figures) {
  const LocalProgress& local = member.local;
  const std::string name = ToString(member.id);
  const double whole =
      ToSeconds(local.total.compute + local.total.wait + local.total.communication);
  figures.push_back({&kWbspLocalSteps, static_cast<double>(local.steps_last_round), name});
  figures.push_back({&kWbspPushes, static_cast<double>(local.pushes), name});
  figures.push_back({&kWbspPulls, static_cast<double>(local.pulls), name});
  figures.push_back({&kWbspTimeouts, static_cast<double>(local.timeouts), name});
  figures.push_back({&kWbspDeltaNorm, local.delta_norm, name});
  if (whole > 0)
    figures.push_back({&kWbspComputeRatio, ToSeconds(local.total.compute) / whole, name});
}

void TellLocal(const EngineState& state, std::vector<Figure>& figures) {
  uint32_t unpushed = 0, parked = 0;
  for (const Member& member : state.roster.members()) {
    const uint32_t owed = member.standing().owed;
    unpushed += owed;
    parked += owed == 0 && member.local.steps >= state.at.local.local_steps_max ? 1 : 0;
  }
  const LocalSeen& seen = state.seen;
  figures.push_back({&kWbspRounds, static_cast<double>(seen.rounds)});
  figures.push_back({&kWbspRoundSeconds, seen.last_round_seconds});
  figures.push_back({&kWbspLatePushes, static_cast<double>(seen.late_pushes),
                     std::string(ToString(state.at.local.late_push))});
  figures.push_back({&kWbspTriggerWorker, seen.trigger_worker
                                              ? static_cast<double>(seen.trigger_worker->value())
                                              : -1.0});
  figures.push_back({&kWbspUnpushedSteps, static_cast<double>(unpushed)});
  figures.push_back({&kWbspParkedWorkers, static_cast<double>(parked)});
  for (const Member& member : state.roster.members()) TellLocalMember(member, figures);
}

// Members whose push the open round waits for.
double WaitingFor(const EngineState& state) {
  if (!state.at.IsLocal() || state.at.quorum != QuorumChoice{}) return PushesNeeded(state);
  if (const auto is_awaited = IsDesignatedAwaited(state)) return *is_awaited ? 1 : 0;
  return state.roster.counts().waited_for;
}

std::string Described(const NonFinitePushes& pushes, const EngineState& state) {
  if (pushes.in_a_row == 0 || state.at.IsStrict()) return fmt::format("{}", pushes.in_a_row);
  return fmt::format("{}@{}", pushes.in_a_row, pushes.on);
}

std::string DescribedLocal(const LocalProgress& local, const EngineState& state) {
  std::string text = fmt::format(",l{},{}", local.leases, local.steps);
  if (local.on) text += fmt::format(",{}", state.version.value() - local.on->value());
  if (state.at.local.trigger == RoundTrigger::kDesignated)
    text += fmt::format(",{}", local.step_seconds);
  if (state.at.local.is_normalised) text += fmt::format(",{}", local.mean_steps);
  return text;
}

std::string Described(const Member& member, const EngineState& state) {
  const Standing& standing = member.standing();
  const bool is_ahead = standing.clock > state.slowest && !state.at.window.is_unbounded();
  std::string text = fmt::format(
      " {}:{},{},{}{}{}{}{}{},{},{},{},{}", member.id, standing.owed, standing.pushes,
      standing.is_counted ? 'c' : '-', member.is_held ? 'h' : '-', standing.has_sat_out ? 'o' : '-',
      standing.is_missing ? 'm' : '-', standing.is_starved ? 's' : '-',
      member.is_in_line ? 'l' : '-', is_ahead ? standing.clock - state.slowest : 0,
      HasShares(state) ? member.share : 0, member.samples_max, Described(member.non_finite, state));
  if (state.at.IsStrict() && member.is_new) text += ",new";
  if (state.at.meanwhile == Meanwhile::kEagerPull && member.is_unanswered) text += ",unanswered";
  if (state.at.meanwhile == Meanwhile::kLocalSteps) text += DescribedLocal(member.local, state);
  return text;
}

std::string Described(const Round& round, const EngineState& state) {
  std::string text = fmt::format(" round={},{},{}", round.pushes, round.distinct, round.samples);
  for (const Round::Staged& push : round.staged)
    text += fmt::format(" {}{}*{}", push.worker, push.sequence, push.samples);
  if (state.at.meanwhile != Meanwhile::kLocalSteps) return text;
  text += fmt::format(" n={} unpublished={}", round.members,
                      state.version.value() - state.published.value());
  if (state.at.local.is_normalised) text += fmt::format(" steps={}", round.mean_steps);
  if (state.designated) text += fmt::format(" designated={}", *state.designated);
  if (state.at.local.trigger == RoundTrigger::kDesignated)
    text += fmt::format(" election={}", state.rounds_since_election);
  return text;
}

// Without those who are passed over.
std::string DescribedLine(const EngineState& state) {
  std::string text;
  std::set<WorkerId> named;
  for (const WorkerId worker : state.line) {
    const Member* const member = state.roster.Find(worker);
    if (member == nullptr || !member->is_in_line || !named.insert(worker).second) continue;
    text += fmt::format(" {}", worker);
  }
  return fmt::format(" left={}{}", state.samples_left, text);
}

}  // namespace

void Engine::Tell(std::vector<Figure>& figures) const {
  if (state_.at.HasRounds()) figures.push_back({&kWaitingFor, WaitingFor(state_)});
  if (state_.at.meanwhile == Meanwhile::kEagerPull) TellEager(state_, figures);
  if (state_.at.meanwhile == Meanwhile::kLocalSteps) TellLocal(state_, figures);
  state_.quorum->Tell(figures);
  state_.sizer->Tell(figures);
}

std::string Engine::Save() const { return JoinSaved(state_.quorum->Save(), state_.sizer->Save()); }

std::string Engine::DebugString() const {
  std::string text =
      fmt::format("{} phase={} joins={}", state_.version, int(state_.phase), state_.joins);
  if (!state_.at.IsStrict())
    text += fmt::format(" finite={}", state_.finite_on.value_or(Version()));
  for (const Member& member : state_.roster.members()) text += Described(member, state_);
  text += Described(state_.round, state_);
  if (HasShares(state_) && !state_.at.IsStrict())
    text += fmt::format(" swept={}{}", state_.swept, state_.is_sharing_due);
  for (const FormerReach& former : state_.former_reaches) {
    text += fmt::format(" former={},{}", former.reach ? int64_t(*former.reach) : -1,
                        int64_t(state_.version.value()) - int64_t(former.until.value()));
  }
  if (state_.is_quorum_due) text += " quorum-due";
  text += DescribedLine(state_);
  if (const std::string sizing = state_.sizer->DebugString(); !sizing.empty())
    text += " | " + sizing;
  if (const std::string quorum = state_.quorum->DebugString(); !quorum.empty()) {
    text += fmt::format(" {} {}", state_.version <= state_.published ? "published" : "unpublished",
                        quorum);
  }
  return text;
}

}  // namespace paceline::sync
