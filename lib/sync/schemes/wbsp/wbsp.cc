#include "lib/sync/schemes/wbsp/wbsp.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "lib/sync/schemes/equal_share.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

constexpr double kNewestShare = 0.2;  // Of the newest measurement in a mean.
// Leases of one worker where pushes travel while it computes: of the step that it makes, and of the
// next, which it begins while the first one's push is under way. One more each time that it had to
// wait for one: its pushes take longer than its steps, and are to carry several.
constexpr uint32_t kLeasesMax = 8;
constexpr double kWaitShareMax = 0.1;  // Of its time computing.

double Mixed(double mean, double newest) {
  return mean == 0 ? newest : mean + kNewestShare * (newest - mean);
}

}  // namespace

Wbsp::Wbsp(const Options& options)
    : options_(options),
      version_(options.first_version),
      published_(options.first_version),
      round_seconds_(options.round_seconds) {}

void Wbsp::Observe(const Event& event, Time now, Decisions& decisions) {
  now_ = now;
  std::visit([&](const auto& e) { On(e, decisions); }, event);
  if (phase_ == Phase::kOpening && joins_ >= options_.workers_expected) {
    phase_ = Phase::kRunning;
    BeginRound();
  }
  if (phase_ == Phase::kRunning) Settle(decisions);
}

std::optional<Time> Wbsp::Deadline() const {
  // Nothing can be published before somebody has pushed.
  if (phase_ != Phase::kRunning || round_pushes_ == 0) return std::nullopt;
  if (!round_seconds_ || *round_seconds_ <= 0) return std::nullopt;
  return round_began_ + Seconds(options_.knobs.round_timeout_factor * *round_seconds_);
}

// --- Events.

void Wbsp::On(const WorkerJoined& event, Decisions&) {
  Remove(event.worker);
  members_[event.worker] = Member{};
  if (phase_ == Phase::kOpening) ++joins_;
}

void Wbsp::On(const WorkerLeft& event, Decisions&) { Remove(event.worker); }

void Wbsp::On(const PushArrived& push, Decisions& decisions) {
  const auto found = members_.find(push.worker);
  if (found == members_.end()) return DropPush(push, DropReason::kWorkerLeft, decisions);
  Member& member = found->second;
  member.owed -= std::min(member.owed, push.steps);
  if (phase_ == Phase::kOver) return DropPush(push, DropReason::kQuiescing, decisions);
  Measure(push, member);
  member.is_missing = false;
  const bool was_starved =
      ToSeconds(push.timing.wait) > kWaitShareMax * ToSeconds(push.timing.compute);
  if (was_starved && member.leases < kLeasesMax) ++member.leases;
  if (!push.gradient.is_finite) return OnNonFinite(push, member, decisions);
  member.non_finite.in_a_row = 0;
  NoteFinite(push, finite_on_);
  if (push.based_on.Next() < version_) return DropPush(push, DropReason::kTooStale, decisions);
  const bool is_late = push.based_on < version_;
  if (is_late) ++late_pushes_;
  if (is_late && options_.knobs.late_push == LatePush::kDrop)
    return DropPush(push, DropReason::kSuperseded, decisions);
  Contribute(push, member, decisions);
}

void Wbsp::Measure(const PushArrived& push, Member& member) {
  Seen& seen = member.seen;
  ++seen.pushes;
  seen.total.compute += push.timing.compute;
  seen.total.wait += push.timing.wait;
  seen.total.communication += push.timing.communication;
  seen.delta_norm = std::sqrt(push.gradient.squared_norm);
  seen.step_seconds =
      Mixed(seen.step_seconds, ToSeconds(push.timing.compute) / std::max(push.steps, 1u));
}

// The worker replaces its copy, which is of no use any more: a release, not a continuation.
void Wbsp::OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions) {
  DropPush(push, DropReason::kNonFinite, decisions);
  member.on.reset();
  if (push.gradient.is_excused) return;
  const NonFiniteVerdict verdict = DecideOnNonFinite(members_, push, finite_on_, decisions);
  if (verdict == NonFiniteVerdict::kRolledBack) phase_ = Phase::kOver;
  if (verdict == NonFiniteVerdict::kExpelled) Remove(push.worker);
}

void Wbsp::Contribute(const PushArrived& push, Member& member, Decisions& decisions) {
  decisions.push_back(Accumulate{push.worker, push.sequence, WeightOf(member)});
  ++member.pushes;
  member.steps += push.steps;
  ++round_pushes_;
  last_pusher_ = push.worker;
}

double Wbsp::WeightOf(const Member& member) const {
  const double equal = 1.0 / round_members_;
  const bool is_known = member.mean_steps > 0 && mean_steps_ > 0;
  if (!options_.knobs.is_normalised || !is_known) return equal;
  return equal * mean_steps_ / member.mean_steps;
}

void Wbsp::On(const StepAbandoned& event, Decisions&) {
  const auto found = members_.find(event.worker);
  if (found == members_.end()) return;
  Member& member = found->second;
  member.owed -= std::min(member.owed, 1u);
  if (event.reason == AbandonReason::kOutOfMemory)
    member.samples_max = std::max<uint32_t>(1, event.samples_fit);
  SamplesCameBack();
}

// Who is busy fetches the version meanwhile.
void Wbsp::On(const StepCommitted& event, Decisions& decisions) {
  published_ = std::max(published_, event.version);
  if (phase_ != Phase::kRunning || !options_.knobs.is_overlapped) return;
  for (auto& [worker, member] : members_) {
    if (member.owed == 0 || !member.on || *member.on >= published_) continue;
    member.on = published_;
    ++member.seen.pulls;
    decisions.push_back(Offer{worker, published_});
  }
}

void Wbsp::On(const DeadlineReached&, Decisions& decisions) {
  const std::optional<Time> deadline = Deadline();
  if (!deadline || now_ < *deadline) return;
  for (auto& [worker, member] : members_) {
    if (!IsWaitedFor(worker, member)) continue;
    member.is_counted = false;
    member.is_missing = true;
    ++member.seen.timeouts;
  }
  last_pusher_.reset();
  EndRound(decisions);
}

void Wbsp::On(const OutOfData& event, Decisions&) {
  const auto found = members_.find(event.worker);
  if (found == members_.end()) return;
  found->second.owed -= std::min(found->second.owed, 1u);
  found->second.is_out_of_data = true;
  // If it was a release that found nothing, the worker never heard of its version.
  found->second.on.reset();
}

// What is in the sum cannot be taken back, so it is published.
void Wbsp::On(const Quiesce&, Decisions& decisions) {
  if (phase_ == Phase::kRunning && round_pushes_ > 0) EndRound(decisions);
  phase_ = Phase::kOver;
}

void Wbsp::DropPush(const PushArrived& push, DropReason reason, Decisions& decisions) {
  decisions.push_back(Drop{push.worker, push.sequence, reason});
  SamplesCameBack();
}

void Wbsp::Remove(WorkerId worker) {
  if (members_.erase(worker) > 0) SamplesCameBack();
  if (designated_ == worker) designated_.reset();
}

void Wbsp::SamplesCameBack() {
  for (auto& [worker, member] : members_) member.may_find_data = true;
}

// --- Rounds.

bool Wbsp::HasData(const Member& member) {
  return member.owed > 0 || member.pushes > 0 || !member.is_out_of_data || member.may_find_data;
}

bool Wbsp::IsWaitedFor(WorkerId worker, const Member& member) const {
  if (!member.is_counted || member.pushes > 0 || member.owed == 0) return false;
  return !designated_ || *designated_ == worker;
}

bool Wbsp::IsRoundOver() const {
  if (round_pushes_ == 0) return false;
  return std::none_of(members_.begin(), members_.end(),
                      [this](const auto& entry) { return IsWaitedFor(entry.first, entry.second); });
}

void Wbsp::EndRound(Decisions& decisions) {
  decisions.push_back(Commit{.kind = PushKind::kDelta});
  version_ = version_.Next();
  ++rounds_;
  ++rounds_since_election_;
  last_round_seconds_ = ToSeconds(now_ - round_began_);
  round_seconds_ = Mixed(round_seconds_.value_or(0), last_round_seconds_);
  trigger_worker_ = last_pusher_;
  BeginRound();
  SamplesCameBack();
}

void Wbsp::BeginRound() {
  round_began_ = now_;
  round_pushes_ = round_members_ = 0;
  double steps = 0;
  uint32_t measured = 0;
  for (auto& [worker, member] : members_) {
    member.seen.steps_last_round = std::exchange(member.steps, 0);
    member.pushes = 0;
    const uint32_t made = member.seen.steps_last_round;
    if (member.is_counted && made > 0) member.mean_steps = Mixed(member.mean_steps, made);
    // Who let the last round run out of time is waited for again when it has pushed.
    member.is_counted = !member.is_missing;
    if (!member.is_counted || !HasData(member)) continue;
    ++round_members_;
    steps += member.mean_steps;
    if (member.mean_steps > 0) ++measured;
  }
  mean_steps_ = steps / std::max(measured, 1u);
  round_members_ = std::max(round_members_, 1u);
  if (rounds_since_election_ >= options_.knobs.elect_rounds) designated_.reset();
}

// One that cannot end the round is no use as the one that does.
void Wbsp::ElectIfDue() {
  if (options_.knobs.trigger != RoundTrigger::kDesignated) return;
  if (designated_) {
    const auto found = members_.find(*designated_);
    const bool is_there = found != members_.end();
    if (is_there && found->second.is_counted && HasData(found->second)) return;
  }
  Elect();
}

// Until each has been measured, all are waited for.
void Wbsp::Elect() {
  designated_.reset();
  rounds_since_election_ = 0;
  double slowest = 0;
  for (const auto& [worker, member] : members_) {
    if (!member.is_counted || !HasData(member)) continue;
    if (member.seen.step_seconds == 0) return designated_.reset();
    if (member.seen.step_seconds <= slowest) continue;
    slowest = member.seen.step_seconds;
    designated_ = worker;
  }
}

void Wbsp::Settle(Decisions& decisions) {
  ElectIfDue();
  if (IsRoundOver()) {
    EndRound(decisions);
    ElectIfDue();
  }
  for (auto& [worker, member] : members_) SendOn(worker, member, decisions);
}

bool Wbsp::MayStep(const Member& member) const {
  return member.steps + member.owed < options_.knobs.local_steps_max &&
         (!member.is_out_of_data || member.may_find_data);
}

void Wbsp::SendOn(WorkerId worker, Member& member, Decisions& decisions) {
  const uint32_t leases = options_.knobs.is_overlapped ? member.leases : 1;
  while (member.owed < leases && MayStep(member)) {
    const bool is_behind = !member.on || *member.on < version_;
    if (is_behind && member.owed > 0) return;  // It was offered the version, or will be.
    // What comes with a version that is not published yet must not come before it.
    if (!is_behind && *member.on > published_) return;
    const Assignment assignment = AssignmentOf(worker, member);
    if (is_behind) {
      decisions.push_back(Release{.worker = worker, .version = version_, .assignment = assignment});
      member.on = version_;
      ++member.seen.pulls;
    } else {
      decisions.push_back(Continue{worker, assignment});
    }
    ++member.owed;
    member.is_out_of_data = member.may_find_data = false;
  }
}

Assignment Wbsp::AssignmentOf(WorkerId worker, const Member& member) const {
  const auto index = static_cast<uint32_t>(std::distance(members_.begin(), members_.find(worker)));
  const auto count = static_cast<uint32_t>(members_.size());
  return {
      .samples = std::min(EqualShare(options_.global_batch_size, count, index), member.samples_max),
      .pacing = options_.knobs.is_overlapped ? Pacing::kOverlapped : Pacing::kKeepGoing,
      .on_pull = options_.knobs.on_pull,
      .momentum_on_pull = options_.knobs.momentum_on_pull};
}

}  // namespace paceline::sync
