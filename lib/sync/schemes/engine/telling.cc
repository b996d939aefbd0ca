// What the engine tells people, keeps for its next life, and shows tests.
#include <fmt/format.h>

#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/schemes/engine/rounds.h"
#include "lib/sync/schemes/saved_pair.h"

namespace paceline::sync {

void Engine::Tell(std::vector<Figure>& figures) const {
  if (state_.at.HasRounds())
    figures.push_back({&kWaitingFor, static_cast<double>(PushesNeeded(state_))});
  if (state_.at.meanwhile == Meanwhile::kEagerPull) {
    uint64_t fastest = state_.slowest;
    uint32_t parked = 0;
    for (const Member& member : state_.roster.members()) {
      figures.push_back({&kLearningRateScale, member.scale, ToString(member.id)});
      if (member.is_unanswered) ++parked;
      if (Roster::HasClock(member.standing())) fastest = std::max(fastest, member.standing().clock);
    }
    figures.push_back({&kParkedReplies, static_cast<double>(parked)});
    figures.push_back({&kProgressGap, static_cast<double>(fastest - state_.slowest)});
  }
  state_.quorum->Tell(figures);
  state_.sizer->Tell(figures);
}

std::string Engine::Save() const { return JoinSaved(state_.quorum->Save(), state_.sizer->Save()); }

std::string Engine::DebugString() const {
  const EngineState& s = state_;
  std::string text = fmt::format("{} phase={} joins={} finite={}", s.version, int(s.phase), s.joins,
                                 s.finite_on.value_or(Version()));
  for (const Member& member : s.roster.members()) {
    const Standing& standing = member.standing();
    const bool is_ahead = standing.clock > s.slowest && !s.at.window.is_unbounded();
    text += fmt::format(" {}:{},{},{},{},{},{},{},{},{},{},{}", member.id, standing.owed,
                        standing.pushes, member.is_held, standing.has_sat_out, standing.is_missing,
                        standing.is_starved, s.roster.MayFindData(member),
                        is_ahead ? standing.clock - s.slowest : 0, member.share, member.samples_max,
                        Describe(member.non_finite));
    if (member.is_new) text += ",new";
    if (s.at.meanwhile == Meanwhile::kEagerPull && member.is_unanswered) text += ",unanswered";
  }
  text += fmt::format(" round={},{},{}", s.round.pushes, s.round.distinct, s.round.samples);
  for (const Round::Staged& push : s.round.staged)
    text += fmt::format(" {}{}*{}", push.worker, push.sequence, push.samples);
  if (const std::string sizing = s.sizer->DebugString(); !sizing.empty()) text += " | " + sizing;
  if (const std::string quorum = s.quorum->DebugString(); !quorum.empty()) {
    text += fmt::format(" {} {}", s.version <= s.published ? "published" : "unpublished", quorum);
  }
  return text;
}

}  // namespace paceline::sync
