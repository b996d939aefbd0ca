#include "lib/sync/schemes/ssp.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "lib/sync/schemes/equal_share.h"

namespace paceline::sync {

Ssp::Ssp(const Options& options) : options_(options), version_(options.first_version) {}

void Ssp::Observe(const Event& event, Time, Decisions& decisions) {
  std::visit([&](const auto& e) { On(e, decisions); }, event);
  if (phase_ == Phase::kOpening && joins_ >= options_.workers_expected) phase_ = Phase::kRunning;
  if (phase_ == Phase::kRunning) Settle(decisions);
}

void Ssp::On(const WorkerJoined& event, Decisions&) {
  Remove(event.worker);
  Member member;
  member.clock = Slowest();
  members_[event.worker] = member;
  if (phase_ == Phase::kOpening) ++joins_;
}

void Ssp::On(const WorkerLeft& event, Decisions&) { Remove(event.worker); }

void Ssp::On(const PushArrived& push, Decisions& decisions) {
  const auto found = members_.find(push.worker);
  if (found == members_.end()) return DropPush(push, DropReason::kWorkerLeft, decisions);
  Member& member = found->second;
  if (phase_ == Phase::kOver) {
    if (member.place == Place::kComputing) member.place = Place::kParked;
    return DropPush(push, DropReason::kQuiescing, decisions);
  }
  if (member.place != Place::kComputing) return DropPush(push, DropReason::kSuperseded, decisions);
  member.place = Place::kParked;
  if (!push.gradient.is_finite) return OnNonFinite(push, member, decisions);
  member.non_finite.in_a_row = 0;
  NoteFinite(push, finite_on_);
  ++member.clock;
  CommitAlone(push, decisions);
}

// The clock stands still, so the window still admits the worker: it tries again at once.
void Ssp::OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions) {
  DropPush(push, DropReason::kNonFinite, decisions);
  if (push.gradient.is_excused) return;
  const NonFiniteVerdict verdict = DecideOnNonFinite(members_, push, finite_on_, decisions);
  if (verdict == NonFiniteVerdict::kRolledBack) phase_ = Phase::kOver;
  if (verdict == NonFiniteVerdict::kExpelled) Remove(push.worker);
}

void Ssp::CommitAlone(const PushArrived& push, Decisions& decisions) {
  const double samples = push.samples;
  decisions.push_back(Accumulate{push.worker, push.sequence, samples});
  Commit commit{.gradient_scale = 1 / samples};
  if (options_.update_scale == UpdateScale::kPerWorker) {
    commit.learning_rate_scale = samples / options_.global_batch_size;
  }
  decisions.push_back(commit);
  version_ = version_.Next();
  SamplesCameBack();
}

void Ssp::On(const StepAbandoned& event, Decisions&) {
  const auto found = members_.find(event.worker);
  if (found == members_.end() || found->second.place != Place::kComputing) return;
  if (event.reason == AbandonReason::kOutOfMemory) {
    found->second.samples_max = std::max<uint32_t>(1, event.samples_fit);
  }
  found->second.place = Place::kParked;
  SamplesCameBack();
}

void Ssp::On(const OutOfData& event, Decisions&) {
  const auto found = members_.find(event.worker);
  if (found == members_.end() || found->second.place != Place::kComputing) return;
  found->second.place = Place::kOutOfData;
}

// Nothing is ever staged or accumulated between two calls.
void Ssp::On(const Quiesce&, Decisions&) { phase_ = Phase::kOver; }

// Settle releases whom a wider window admits; who is ahead of a narrower one finishes its step and
// waits for the others then.
void Ssp::On(const Reconfigured& event, Decisions&) {
  const PolicySpec& spec = event.spec;
  options_.update_scale = spec.update_scale;
  if (spec.scheme != Scheme::kSsp) return;
  options_.window =
      spec.staleness ? StalenessWindow(*spec.staleness) : StalenessWindow::Unbounded();
}

void Ssp::DropPush(const PushArrived& push, DropReason reason, Decisions& decisions) {
  decisions.push_back(Drop{push.worker, push.sequence, reason});
  SamplesCameBack();
}

void Ssp::Remove(WorkerId worker) {
  if (members_.erase(worker) > 0) SamplesCameBack();
}

std::optional<uint64_t> Ssp::SlowestCounted() const {
  std::optional<uint64_t> slowest;
  for (const auto& [worker, member] : members_) {
    if (member.place == Place::kOutOfData) continue;
    slowest = slowest ? std::min(*slowest, member.clock) : member.clock;
  }
  return slowest;
}

void Ssp::Settle(Decisions& decisions) {
  // Slowest first: who was out of data longest must not find itself behind one let in before it.
  std::vector<std::tuple<uint64_t, WorkerId>> waiting;
  for (const auto& [worker, member] : members_) {
    if (member.place == Place::kParked) waiting.emplace_back(member.clock, worker);
    if (member.place == Place::kOutOfData && member.may_find_data) {
      waiting.emplace_back(member.clock, worker);
    }
  }
  std::sort(waiting.begin(), waiting.end());
  std::optional<uint64_t> slowest = SlowestCounted();
  std::vector<WorkerId> admitted;
  for (const auto& [clock, worker] : waiting) {
    if (Admit(members_[worker], slowest)) admitted.push_back(worker);
  }
  std::sort(admitted.begin(), admitted.end());
  uint32_t index = 0;
  auto next = admitted.begin();
  for (auto member = members_.begin(); next != admitted.end(); ++member, ++index) {
    if (member->first != *next) continue;
    ReleaseOnNewest(member->first, member->second, index, decisions);
    ++next;
  }
  floor_ = slowest.value_or(floor_);
}

// Whoever returns from being out of data may not pull the minimum down under the others' feet: so
// `slowest`, of those who count, stays what it is, unless nobody counted. Then there is nobody to
// wait for, however far ahead a window that was wider let the worker go.
bool Ssp::Admit(Member& member, std::optional<uint64_t>& slowest) {
  if (member.place == Place::kOutOfData)
    member.clock = std::max(member.clock, slowest.value_or(floor_));
  if (slowest && !options_.window.Admits(member.clock, *slowest)) return false;
  member.place = Place::kComputing;
  if (!slowest) slowest = member.clock;
  return true;
}

void Ssp::ReleaseOnNewest(WorkerId worker, Member& member, uint32_t index, Decisions& decisions) {
  member.may_find_data = false;
  const auto count = static_cast<uint32_t>(members_.size());
  Release release{.worker = worker, .version = version_, .exactness = Exactness::kAtLeast};
  release.assignment.samples =
      std::min(EqualShare(options_.global_batch_size, count, index), member.samples_max);
  decisions.push_back(release);
}

void Ssp::SamplesCameBack() {
  for (auto& [worker, member] : members_) member.may_find_data = true;
}

std::string Ssp::DebugString() const {
  std::string text = fmt::format("{} phase={} joins={} finite={}", version_, int(phase_), joins_,
                                 finite_on_.value_or(Version()));
  for (const auto& [worker, member] : members_) {
    const bool is_ahead = member.clock > floor_ && !options_.window.is_unbounded();
    text += fmt::format(" {}:{},{},{},{},{}", worker, int(member.place), member.may_find_data,
                        is_ahead ? member.clock - floor_ : 0, member.samples_max,
                        Describe(member.non_finite));
  }
  return text;
}

}  // namespace paceline::sync
