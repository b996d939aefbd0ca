#include "lib/sync/schemes/first_k.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "lib/sync/schemes/batching/equal.h"
#include "lib/sync/schemes/non_finite.h"

namespace paceline::sync {
namespace {

// A part that has become larger or smaller by so much of itself, and by more than what rounding
// does, takes another time.
constexpr double kOtherSize = 0.2;
constexpr double kRounding = 1;

}  // namespace

FirstK::FirstK(const Options& options)
    : FirstK(options, std::make_unique<EqualSizer>(options.global_batch_size)) {}

FirstK::FirstK(const Options& options, std::unique_ptr<BatchSizer> sizer)
    : FirstK(options, std::make_unique<FixedBackup>(options.backup_workers), std::move(sizer)) {}

FirstK::FirstK(const Options& options, std::unique_ptr<Quorum> quorum,
               std::unique_ptr<BatchSizer> sizer)
    : options_(options),
      quorum_(std::move(quorum)),
      sizer_(std::move(sizer)),
      version_(options.first_version),
      published_(options.first_version) {}

void FirstK::Observe(const Event& event, Time now, Decisions& decisions) {
  now_ = now;
  std::visit([&](const auto& e) { On(e, decisions); }, event);
  if (phase_ == Phase::kOpening && joins_ >= options_.workers_expected) phase_ = Phase::kRunning;
  if (phase_ == Phase::kRunning) Settle(decisions);
}

void FirstK::On(const WorkerJoined& event, Decisions& decisions) {
  if (members_.count(event.worker) > 0) Remove(event.worker, decisions);
  members_[event.worker] = Member{};
  sizer_->Joined(event.worker);
  if (phase_ == Phase::kOpening) ++joins_;
}

void FirstK::On(const WorkerLeft& event, Decisions& decisions) {
  if (members_.count(event.worker) == 0) return;
  Remove(event.worker, decisions);
}

void FirstK::On(const PushArrived& push, Decisions& decisions) {
  const auto found = members_.find(push.worker);
  if (found == members_.end()) return DropPush(push, DropReason::kWorkerLeft, decisions);
  Member& member = found->second;
  if (phase_ == Phase::kOver) {
    if (member.place == Place::kComputing) member.place = Place::kJoined;
    return DropPush(push, DropReason::kQuiescing, decisions);
  }
  if (member.place != Place::kComputing) return DropPush(push, DropReason::kSuperseded, decisions);
  if (!push.gradient.is_finite) return OnNonFinite(push, member, decisions);
  member.non_finite_in_a_row = 0;
  sizer_->Arrived(push);
  if (push.based_on < version_) {
    DropPush(push, DropReason::kSuperseded, decisions);
    quorum_->Observe(PushLate{push.worker, push.based_on, push.samples, push.timing}, now_);
    return ReleaseOnNewest(push.worker, member, decisions);
  }
  Contribute(push, member, decisions);
}

// A late push that is not finite says nothing about the running step, but counts against its
// worker.
void FirstK::OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions) {
  const bool is_late = push.based_on < version_;
  DropPush(push, DropReason::kNonFinite, decisions);
  // Other samples may do in the same step.
  if (push.gradient.is_excused) return ReleaseOnNewest(push.worker, member, decisions);
  ++member.non_finite_in_a_row;
  if (!is_late) {
    member.place = Place::kRoundOver;
    if (2 * size_t{Count(Place::kRoundOver)} > members_.size()) {
      DropStaged(decisions);
      decisions.push_back(RollBack{.reason = RollBackReason::kNonFinite});
      phase_ = Phase::kOver;
      return;
    }
  }
  if (member.non_finite_in_a_row >= kNonFiniteInARowMax) {
    decisions.push_back(Expel{push.worker, ExpelReason::kNonFiniteRepeatedly});
    Remove(push.worker, decisions);
  } else if (is_late) {
    ReleaseOnNewest(push.worker, member, decisions);
  }
}

void FirstK::Contribute(const PushArrived& push, Member& member, Decisions& decisions) {
  member.place = Place::kContributed;
  round_.push_back({push.worker, push.sequence, push.samples, !options_.is_deterministic});
  if (!options_.is_deterministic) {
    decisions.push_back(Accumulate{push.worker, push.sequence, double(push.samples)});
  }
  quorum_->Observe(PushCounted{.worker = push.worker,
                               .rank = static_cast<uint32_t>(round_.size()),
                               .samples = push.samples,
                               .timing = push.timing,
                               .gradient = push.gradient},
                   now_);
}

void FirstK::On(const StepAbandoned& event, Decisions& decisions) {
  const auto found = members_.find(event.worker);
  if (found == members_.end() || found->second.place != Place::kComputing) return;
  Member& member = found->second;
  if (event.reason == AbandonReason::kOutOfMemory) {
    member.samples_max = std::max<uint32_t>(1, event.samples_fit);
    sizer_->RanOutOfMemory(event.worker, member.samples_max);
  }
  SamplesCameBack();
  if (phase_ == Phase::kOver) {
    member.place = Place::kJoined;
  } else {
    ReleaseOnNewest(event.worker, member, decisions);
  }
}

void FirstK::On(const StepCommitted& event, Decisions&) {
  published_ = std::max(published_, event.version);
  quorum_->Observe(event, now_);
  if (event.version != version_) return;
  sizer_->StepPublished();
  if (phase_ == Phase::kRunning) TellBegan();
}

// Half for each, if both want some.
void FirstK::On(const Spare& event, Decisions&) {
  const bool is_shared = quorum_->WantsSpare() && sizer_->WantsSpare();
  const uint32_t budget = is_shared ? event.budget / 2 : event.budget;
  quorum_->Observe(Spare{budget}, now_);
  sizer_->UseSpare(budget);
}

// Settle closes the running step if it waits for nobody any more.
void FirstK::On(const Reconfigured& event, Decisions&) { quorum_->Reconfigure(event.spec); }

void FirstK::On(const OutOfData& event, Decisions&) {
  const auto found = members_.find(event.worker);
  if (found == members_.end() || found->second.place != Place::kComputing) return;
  found->second.place = Place::kOutOfData;
}

// What is accumulated cannot be taken back, so it is published; what is only staged is given back.
void FirstK::On(const Quiesce&, Decisions& decisions) {
  if (phase_ == Phase::kOver) return;
  DropStaged(decisions);
  if (!round_.empty()) CommitRound(decisions);
  phase_ = Phase::kOver;
}

// As lost, but for this step only: whether they are is coordination's to say.
void FirstK::On(const DeadlineReached&, Decisions&) {
  const std::optional<Time> deadline = Deadline();
  if (!deadline || now_ < *deadline) return;
  for (auto& [worker, member] : members_) {
    if (member.place == Place::kComputing) member.is_silent = true;
  }
  quorum_->Observe(SilentGivenUp{}, now_);
}

std::optional<Time> FirstK::Deadline() const {
  return phase_ == Phase::kRunning ? quorum_->Deadline() : std::nullopt;
}

void FirstK::DropStaged(Decisions& decisions) {
  std::erase_if(round_, [&](const Contribution& push) {
    if (push.is_accumulated) return false;
    decisions.push_back(Drop{push.worker, push.sequence, DropReason::kQuiescing});
    return true;
  });
}

void FirstK::Remove(WorkerId worker, Decisions& decisions) {
  std::erase_if(round_, [&](const Contribution& push) {
    if (push.worker != worker || push.is_accumulated) return false;
    decisions.push_back(Drop{push.worker, push.sequence, DropReason::kWorkerLeft});
    return true;
  });
  members_.erase(worker);
  sizer_->Left(worker);
  quorum_->Observe(WorkerForgotten{worker}, now_);
  SamplesCameBack();
}

void FirstK::DropPush(const PushArrived& push, DropReason reason, Decisions& decisions) {
  decisions.push_back(Drop{push.worker, push.sequence, reason});
  SamplesCameBack();
}

void FirstK::Settle(Decisions& decisions) {
  if (!round_.empty() && round_.size() >= PushesNeeded()) {
    std::vector<WorkerId> busy;
    for (const auto& [worker, member] : members_) {
      if (member.place == Place::kComputing) busy.push_back(worker);
    }
    CommitRound(decisions);
    BeginRound(decisions);
    for (const WorkerId worker : busy) SendNews(worker, decisions);
  } else if (round_.empty() && Count(Place::kComputing) == 0) {
    // Nothing to wait for and nothing to commit: the step begins anew on the same version.
    BeginRound(decisions);
  }
  for (auto& [worker, member] : members_) {
    if (member.place == Place::kOutOfData && member.may_find_data) {
      ReleaseOnNewest(worker, member, decisions);
    }
  }
}

size_t FirstK::PushesNeeded() const {
  // Busy on an older version counts too: that worker takes part once its late push is dropped.
  size_t computing = 0, silent = 0, round_over = 0;
  for (const auto& [worker, member] : members_) {
    if (member.place == Place::kRoundOver) ++round_over;
    if (member.place != Place::kComputing) continue;
    ++(member.is_silent ? silent : computing);
  }
  const size_t may_arrive = computing + round_.size();
  const size_t taking_part = may_arrive + silent + round_over;
  const size_t k = quorum_->PushesWanted(static_cast<uint32_t>(taking_part));
  return std::min(std::max<size_t>(k, 1), may_arrive);
}

uint32_t FirstK::Count(Place place) const {
  return static_cast<uint32_t>(
      std::count_if(members_.begin(), members_.end(),
                    [&](const auto& entry) { return entry.second.place == place; }));
}

void FirstK::CommitRound(Decisions& decisions) {
  if (options_.is_deterministic) {
    std::sort(round_.begin(), round_.end(),
              [](const Contribution& a, const Contribution& b) { return a.worker < b.worker; });
    for (const Contribution& push : round_) {
      decisions.push_back(Accumulate{push.worker, push.sequence, double(push.samples)});
    }
  }
  double samples = 0;
  for (const Contribution& push : round_) samples += push.samples;
  const auto pushes = static_cast<uint32_t>(round_.size());
  decisions.push_back(Commit{
      .gradient_scale = 1 / samples,
      .learning_rate_scale = sizer_->LearningRateScale() * quorum_->LearningRateScale(pushes)});
  sizer_->StepClosed();
  quorum_->Observe(StepClosed{pushes}, now_);
  version_ = version_.Next();
  round_.clear();
  SamplesCameBack();
}

void FirstK::ShareOut() {
  std::vector<WorkerId> workers;
  workers.reserve(members_.size());
  for (const auto& [worker, member] : members_) workers.push_back(worker);
  const std::vector<uint32_t> shares = sizer_->ShareOut(workers);
  size_t index = 0;
  bool has_changed = false;
  for (auto& [worker, member] : members_) {
    const double before = std::exchange(member.share, shares[index++]);
    const bool is_new = member.place == Place::kJoined;
    has_changed |=
        !is_new && std::abs(member.share - before) > std::max(kOtherSize * before, kRounding);
  }
  if (has_changed) quorum_->Observe(SizesChanged{}, now_);
}

void FirstK::BeginRound(Decisions& decisions) {
  ShareOut();
  for (auto& [worker, member] : members_) {
    const bool has_no_data = member.place == Place::kOutOfData && !member.may_find_data;
    if (member.place == Place::kComputing || has_no_data) continue;
    ReleaseOnNewest(worker, member, decisions);
  }
  if (version_ <= published_) TellBegan();
}

void FirstK::TellBegan() {
  StepBegan began{.version = version_};
  for (const auto& [worker, member] : members_) {
    if (member.place != Place::kComputing) continue;
    ++began.members;
    if (!member.is_silent && member.non_finite_in_a_row == 0) ++began.workers;
  }
  quorum_->Observe(began, now_);
}

void FirstK::SendNews(WorkerId busy, Decisions& decisions) {
  switch (options_.late_worker) {
    case LateWorker::kOffer:
      decisions.push_back(Offer{busy, version_});
      break;
    case LateWorker::kLeave:
      break;
    case LateWorker::kInterrupt:
      decisions.push_back(Interrupt{busy});
      break;
  }
}

void FirstK::ReleaseOnNewest(WorkerId worker, Member& member, Decisions& decisions) {
  member.place = Place::kComputing;
  member.may_find_data = false;
  member.is_silent = false;
  Release release{.worker = worker, .version = version_};
  release.assignment.samples = std::min(member.share, member.samples_max);
  decisions.push_back(release);
}

void FirstK::SamplesCameBack() {
  for (auto& [worker, member] : members_) member.may_find_data = true;
}

void FirstK::Tell(std::vector<Figure>& figures) const {
  figures.push_back({&kWaitingFor, static_cast<double>(PushesNeeded())});
  quorum_->Tell(figures);
  sizer_->Tell(figures);
}

std::string FirstK::DebugString() const {
  std::string text = fmt::format("{} phase={} joins={}", version_, int(phase_), joins_);
  for (const auto& [worker, member] : members_) {
    text += fmt::format(" {}:{},{},{},{},{}", worker, int(member.place), member.may_find_data,
                        member.share, member.samples_max, member.non_finite_in_a_row);
    if (member.is_silent) text += ",silent";
  }
  for (const Contribution& push : round_) {
    text += fmt::format(" {}{}*{}{}", push.worker, push.sequence, push.samples,
                        push.is_accumulated ? "+" : "");
  }
  if (const std::string sizing = sizer_->DebugString(); !sizing.empty()) text += " | " + sizing;
  if (const std::string quorum = quorum_->DebugString(); !quorum.empty()) {
    text += fmt::format(" {} {}", version_ <= published_ ? "published" : "unpublished", quorum);
  }
  return text;
}

}  // namespace paceline::sync
