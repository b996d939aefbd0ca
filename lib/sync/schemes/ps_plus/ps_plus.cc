#include "lib/sync/schemes/ps_plus/ps_plus.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/sync/schemes/equal_share.h"

namespace paceline::sync {

PsPlus::PsPlus(const Options& options) : options_(options), version_(options.first_version) {}

void PsPlus::Observe(const Event& event, Time, Decisions& decisions) {
  std::visit([&](const auto& e) { On(e, decisions); }, event);
  if (phase_ == Phase::kOpening && joins_ >= options_.workers_expected) phase_ = Phase::kRunning;
  if (phase_ == Phase::kRunning) Settle(decisions);
}

void PsPlus::On(const WorkerJoined& event, Decisions&) {
  Remove(event.worker);
  Member member;
  member.clock = Slowest();
  members_[event.worker] = member;
  pace_.Join(event.worker);
  if (phase_ == Phase::kOpening) ++joins_;
}

void PsPlus::On(const WorkerLeft& event, Decisions&) { Remove(event.worker); }

void PsPlus::On(const PushArrived& push, Decisions& decisions) {
  const auto found = members_.find(push.worker);
  if (found == members_.end()) return DropPush(push, DropReason::kWorkerLeft, decisions);
  Member& member = found->second;
  if (phase_ == Phase::kOver) return DropPush(push, DropReason::kQuiescing, decisions);
  if (member.owed == 0) return DropPush(push, DropReason::kSuperseded, decisions);
  --member.owed;
  member.is_unanswered = true;
  member.is_starved = false;  // What it lacks is asked for again with the answer.
  member.last = push.sequence;
  if (!push.gradient.is_finite) return OnNonFinite(push, member, decisions);
  member.non_finite.in_a_row = 0;
  NoteFinite(push, finite_on_);
  CommitAlone(push, member, decisions);
}

// The clock stands still, so the window still admits the worker. Its answer includes the push,
// which is not in that version and never will be: the worker forgets it and is synchronous again.
void PsPlus::OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions) {
  DropPush(push, DropReason::kNonFinite, decisions);
  if (push.gradient.is_excused) return;
  const NonFiniteVerdict verdict = DecideOnNonFinite(members_, push, finite_on_, decisions);
  if (verdict == NonFiniteVerdict::kRolledBack) phase_ = Phase::kOver;
  if (verdict == NonFiniteVerdict::kExpelled) Remove(push.worker);
}

void PsPlus::CommitAlone(const PushArrived& push, Member& member, Decisions& decisions) {
  const bool is_shared = options_.update_scale == UpdateScale::kPerWorker;
  const double weight = is_shared ? 1.0 / static_cast<double>(members_.size()) : 1.0;
  decisions.push_back(Accumulate{push.worker, push.sequence, weight});
  decisions.push_back(Commit{.kind = PushKind::kDelta});
  version_ = version_.Next();
  ++member.clock;
  ++member.own_since_release;
  pace_.Step(push.worker);
  SamplesCameBack();
}

void PsPlus::On(const StepAbandoned& event, Decisions&) {
  const auto found = members_.find(event.worker);
  if (found == members_.end() || found->second.owed == 0) return;
  Member& member = found->second;
  if (event.reason == AbandonReason::kOutOfMemory) {
    member.samples_max = std::max<uint32_t>(1, event.samples_fit);
  }
  --member.owed;
  SamplesCameBack();
}

void PsPlus::On(const OutOfData& event, Decisions&) {
  const auto found = members_.find(event.worker);
  if (found == members_.end() || found->second.owed == 0) return;
  --found->second.owed;
  found->second.is_starved = true;
}

// Nothing is ever staged or accumulated between two calls.
void PsPlus::On(const Quiesce&, Decisions&) { phase_ = Phase::kOver; }

void PsPlus::DropPush(const PushArrived& push, DropReason reason, Decisions& decisions) {
  decisions.push_back(Drop{push.worker, push.sequence, reason});
  SamplesCameBack();
}

void PsPlus::Remove(WorkerId worker) {
  pace_.Leave(worker);
  if (members_.erase(worker) > 0) SamplesCameBack();
}

uint64_t PsPlus::Slowest() const {
  std::optional<uint64_t> slowest;
  for (const auto& [worker, member] : members_) {
    if (Counts(member)) slowest = std::min(slowest.value_or(member.clock), member.clock);
  }
  return slowest.value_or(floor_);
}

// Leases, or an answer.
bool PsPlus::Wants(const Member& member) const {
  if (member.owed >= LeasesMax()) return false;
  return !member.is_starved || MayFindData(member);
}

void PsPlus::Settle(Decisions& decisions) {
  std::optional<uint64_t> counting, returning;
  for (const auto& [worker, member] : members_) {
    if (!Counts(member) && !Wants(member)) continue;
    std::optional<uint64_t>& least = Counts(member) ? counting : returning;
    least = std::min(least.value_or(member.clock), member.clock);
  }
  // Whoever returns from being out of data may not pull the minimum down under the others' feet.
  // The first to return when nobody counts sets it.
  if (counting || returning) floor_ = counting ? *counting : std::max(*returning, floor_);
  const uint64_t slowest = floor_;
  uint32_t index = 0;
  for (auto& [worker, member] : members_) {
    if (Wants(member)) {
      if (!Counts(member)) member.clock = std::max(member.clock, slowest);
      if (options_.window.Admits(member.clock, slowest)) {
        SendOn(worker, member, index, decisions);
      }
    }
    ++index;
  }
}

// What the worker waits for is a release; leases alone do where it has had its answer and computes.
// A release that found no samples may not have reached it.
void PsPlus::SendOn(WorkerId worker, Member& member, uint32_t index, Decisions& decisions) {
  const auto count = static_cast<uint32_t>(members_.size());
  Assignment assignment{.pacing = Pacing::kEagerPull};
  assignment.samples =
      std::min(EqualShare(options_.global_batch_size, count, index), member.samples_max);
  if (member.is_unanswered || member.is_starved || member.owed == 0) {
    member.scale = ScaleOfNextPush(worker, member);
    assignment.learning_rate_scale = member.scale;
    decisions.push_back(Release{worker, version_, Exactness::kAtLeast, member.last, assignment});
    member.released = version_;
    member.own_since_release = 0;
    member.is_unanswered = false;
    ++member.owed;
  }
  assignment.learning_rate_scale = member.scale;
  for (; member.owed < LeasesMax(); ++member.owed) {
    decisions.push_back(Continue{worker, assignment});
  }
  member.is_starved = false;
  member.looked = samples_back_;
}

// The step in flight was computed on what the worker was last released on, the next push is that
// step's: how many updates of others came between is known before it is sent. By the time it is
// applied it will be about twice as many.
double PsPlus::ScaleOfNextPush(WorkerId worker, const Member& member) const {
  const bool is_in_flight = member.released && member.owed > 0;
  if (!is_in_flight) return 1;
  const uint64_t updates = version_.value() - member.released->value();
  Lateness lateness;
  lateness.missed = updates - std::min(updates, member.own_since_release);
  lateness.workers = static_cast<uint32_t>(members_.size());
  if (options_.modulation.rule == Modulation::kProgressGap) lateness.pace = pace_.Of(worker);
  return LearningRateScale(options_.modulation, lateness);
}

void PsPlus::Tell(std::vector<Figure>& figures) const {
  uint64_t fastest = floor_;
  uint32_t parked = 0;
  for (const auto& [worker, member] : members_) {
    figures.push_back({&kLearningRateScale, member.scale, ToString(worker)});
    if (member.is_unanswered) ++parked;
    if (Counts(member)) fastest = std::max(fastest, member.clock);
  }
  figures.push_back({&kParkedReplies, static_cast<double>(parked)});
  figures.push_back({&kProgressGap, static_cast<double>(fastest - floor_)});
}

std::string PsPlus::DebugString() const {
  std::string text = fmt::format("{} phase={} joins={} finite={}", version_, int(phase_), joins_,
                                 finite_on_.value_or(Version()));
  for (const auto& [worker, member] : members_) {
    const bool is_ahead = member.clock > floor_ && !options_.window.is_unbounded();
    text += fmt::format(" {}:{},{},{},{},{},{},{}", worker, is_ahead ? member.clock - floor_ : 0,
                        member.owed, member.is_unanswered, member.is_starved, MayFindData(member),
                        member.samples_max, Describe(member.non_finite));
  }
  return text;
}

}  // namespace paceline::sync
