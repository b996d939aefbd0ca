#include "lib/sync/contract/checked_policy.h"

#include <algorithm>
#include <cmath>

#include "lib/sync/trace/trace.h"

namespace paceline::sync {

CheckedPolicy::CheckedPolicy(std::unique_ptr<Policy> policy, const PolicySpec& spec, Report report)
    : policy_(std::move(policy)),
      report_(std::move(report)),
      joins_missing_(spec.workers_expected),
      depth_(spec.depth),
      committed_(spec.first_version),
      published_(spec.first_version) {}

std::unique_ptr<Policy> CheckedPolicy::Clone() const {
  auto clone = std::make_unique<CheckedPolicy>(policy_->Clone(), PolicySpec{}, report_);
  clone->joins_missing_ = joins_missing_;
  clone->depth_ = depth_;
  clone->committed_ = committed_;
  clone->published_ = published_;
  clone->members_ = members_;
  clone->counts_ = counts_;
  clone->samples_left_ = samples_left_;
  clone->unanswered_ = unanswered_;
  clone->accumulated_ = accumulated_;
  clone->kind_ = kind_;
  clone->phase_ = phase_;
  clone->quiesce_deadline_ = quiesce_deadline_;
  clone->is_silent_ = is_silent_;
  return clone;
}

void CheckedPolicy::Observe(const Event& event, Time now, std::vector<Decision>& decisions) {
  const size_t first = decisions.size();
  std::visit([&](const auto& e) { Note(e); }, event);
  policy_->Observe(event, now, decisions);
  if (decisions.size() < first) Violation("decisions were cleared, not appended to");
  for (size_t i = first; i < decisions.size(); ++i) {
    std::visit([&](const auto& d) { Check(d); }, decisions[i]);
  }
  CheckAllAnswered(now);
  CheckSilence();
}

void CheckedPolicy::Note(const WorkerJoined& event) {
  Forget(event.worker);
  Count(members_[event.worker] = Member{}, +1);
  if (joins_missing_ > 0) --joins_missing_;
}

void CheckedPolicy::Note(const WorkerLeft& event) { Forget(event.worker); }

void CheckedPolicy::Note(const PushArrived& push) {
  if (!unanswered_.emplace(PushId{push.worker, push.sequence}, push.gradient.is_finite).second) {
    Violation("event tells of a push twice: {}", FormatEvent(push));
  }
  if (push.samples == 0) Violation("event is of a push without samples: {}", FormatEvent(push));
  asked_.push_back(push.worker);
  Member* member = Find(push.worker);
  if (member == nullptr) return;
  if (member->owed < push.steps) {
    Violation("event is of a push that nobody owed: {}", FormatEvent(push));
  }
  if (!member->released.empty() && push.based_on < member->released.front()) {
    Violation("event is of a push older than its release at {}: {}", member->released.front(),
              FormatEvent(push));
  }
  Change(*member, [&](Member& changed) { changed.owed -= std::min(changed.owed, push.steps); });
  ++member->unanswered;
  if (member->released.size() > 1) member->released.erase(member->released.begin());
}

void CheckedPolicy::Note(const StepAbandoned& event) {
  if (Member* member = Find(event.worker))
    Change(*member, [](Member& changed) { changed.owed -= std::min(changed.owed, 1u); });
}

void CheckedPolicy::Note(const StepCommitted& event) {
  if (event.version > committed_) {
    Violation("event is of a version that was not committed: {}", FormatEvent(event));
  }
  published_ = std::max(published_, event.version);
}

void CheckedPolicy::Note(const OutOfData& event) {
  samples_left_ = 0;
  Member* member = Find(event.worker);
  if (member == nullptr) return;
  Change(*member, [](Member& changed) {
    changed.owed -= std::min(changed.owed, 1u);
    changed.is_out_of_data = true;
  });
}

void CheckedPolicy::Note(const SamplesReturned& event) {
  if (event.samples == 0) Violation("event is of no samples: {}", FormatEvent(event));
  samples_left_ = event.samples;
}

void CheckedPolicy::Note(const Quiesce& event) {
  if (phase_ != Phase::kOpen) return;
  phase_ = Phase::kQuiescing;
  quiesce_deadline_ = event.deadline;
}

// Deeper: pushes may be based on older versions from now on. Less deep: what is under way may yet.
void CheckedPolicy::Note(const Reconfigured& event) {
  const uint32_t before = std::exchange(depth_, event.spec.depth);
  if (depth_ <= before) return;
  for (auto& [worker, member] : members_) {
    if (member.is_eager() && !member.released.empty())
      member.released.insert(member.released.begin(), depth_ - before, member.released.front());
  }
}

void CheckedPolicy::Check(const Accumulate& decision) {
  const auto push = unanswered_.find({decision.worker, decision.sequence});
  if (push != unanswered_.end() && !push->second) {
    Violation("push that is not finite is accumulated: {}", FormatDecision(decision));
  }
  if (!std::isfinite(decision.weight) || decision.weight <= 0) {
    Violation("weight is not positive: {}", FormatDecision(decision));
  }
  CheckPushAnswered(decision.worker, decision.sequence);
  ++accumulated_;
}

void CheckedPolicy::Check(const Drop& decision) {
  CheckPushAnswered(decision.worker, decision.sequence);
}

void CheckedPolicy::Check(const Commit& decision) {
  if (accumulated_ == 0) Violation("commit is empty: {}", FormatDecision(decision));
  if (!std::isfinite(decision.gradient_scale) || !std::isfinite(decision.learning_rate_scale)) {
    Violation("scale is not finite: {}", FormatDecision(decision));
  }
  if (phase_ == Phase::kRolledBack) Violation("commit after rolling back");
  if (decision.kind != kind_) Violation("commit is of another kind than the pushes");
  accumulated_ = 0;
  committed_ = committed_.Next();
}

void CheckedPolicy::Check(const Release& decision) {
  Member* member = Find(decision.worker);
  CheckMayGoOn(decision.worker, decision.assignment);
  if (decision.version > committed_) {
    Violation("version does not exist, newest is {}: {}", committed_, FormatDecision(decision));
  }
  if (member == nullptr) return;
  const bool is_eager = decision.assignment.pacing == Pacing::kEagerPull;
  if (is_eager ? HasAllLeases(*member) : member->owed > 0) {
    Violation("worker does not wait: {}", FormatDecision(decision));
  }
  // Eager pull: a push is sent once those before it were answered; the step after it begins on what
  // came with the answer to the one before, or, `depth` less one earlier.
  std::vector<Version> released{decision.version};
  if (is_eager) {
    const bool is_first = !member->is_eager();
    released =
        is_first ? std::vector<Version>(depth_, decision.version) : std::move(member->released);
    released.insert(released.end(), is_first ? 1 : member->unanswered, decision.version);
  }
  Change(*member, [&](Member& changed) {
    changed = Member{.owed = is_eager ? changed.owed + 1 : 1,
                     .pacing = decision.assignment.pacing,
                     .released = std::move(released)};
  });
  UseUp(decision.assignment);
  kind_ = PushKindOf(decision.assignment.pacing);
}

void CheckedPolicy::Check(const Offer& decision) {
  const Member* member = Find(decision.worker);
  if (member == nullptr || member->owed == 0) {
    Violation("worker is not busy: {}", FormatDecision(decision));
  }
  if (decision.version > committed_) {
    Violation("version does not exist, newest is {}: {}", committed_, FormatDecision(decision));
  }
}

void CheckedPolicy::Check(const Continue& decision) {
  CheckMayGoOn(decision.worker, decision.assignment);
  if (decision.assignment.pacing == Pacing::kWait)
    Violation("worker is to wait for a release: {}", FormatDecision(decision));
  if (Member* member = Find(decision.worker)) {
    const bool goes_ahead = decision.assignment.pacing != Pacing::kKeepGoing;
    if (member->owed > 0 && !goes_ahead)
      Violation("worker does not wait: {}", FormatDecision(decision));
    const bool is_eager = decision.assignment.pacing == Pacing::kEagerPull;
    if (is_eager && HasAllLeases(*member))
      Violation("worker has its leases: {}", FormatDecision(decision));
    Change(*member, [&](Member& changed) {
      ++changed.owed;
      changed.is_out_of_data = false;
    });
    UseUp(decision.assignment);
  }
}

void CheckedPolicy::Check(const Interrupt& decision) {
  const Member* member = Find(decision.worker);
  if (member == nullptr || member->owed == 0) {
    Violation("worker is not busy: {}", FormatDecision(decision));
  }
}

void CheckedPolicy::Check(const Expel& decision) {
  if (Find(decision.worker) == nullptr) {
    Violation("worker is no member: {}", FormatDecision(decision));
  }
  Forget(decision.worker);
}

void CheckedPolicy::Check(const RollBack&) {
  phase_ = Phase::kRolledBack;
  accumulated_ = 0;
}

void CheckedPolicy::CheckPushAnswered(WorkerId worker, Sequence sequence) {
  if (unanswered_.erase({worker, sequence}) == 0) {
    Violation("push is answered without having arrived, or twice: {} {}", worker, sequence);
  }
}

void CheckedPolicy::CheckMayGoOn(WorkerId worker, const Assignment& assignment) {
  const Member* member = Find(worker);
  if (member == nullptr) Violation("worker is no member: {}", worker);
  if (member != nullptr && member->is_out_of_data && samples_left_ == 0) {
    Violation("worker is out of data, and no samples returned that are left: {}", worker);
  }
  if (phase_ != Phase::kOpen) Violation("worker is sent on while stopping: {}", worker);
  if (assignment.samples == 0) Violation("assignment has no samples: {}", worker);
}

void CheckedPolicy::UseUp(const Assignment& assignment) {
  samples_left_ -= std::min<uint64_t>(samples_left_, assignment.samples);
}

void CheckedPolicy::CheckAllAnswered(Time now) {
  for (const WorkerId worker : std::exchange(asked_, {})) {
    if (Find(worker) != nullptr) continue;
    auto push = unanswered_.lower_bound({worker, Sequence()});
    for (; push != unanswered_.end() && push->first.first == worker; ++push) {
      Violation("push of a worker that is no member is unanswered: {} {}", worker,
                push->first.second);
    }
  }
  const bool must_be_done =
      phase_ == Phase::kRolledBack || (phase_ == Phase::kQuiescing && now >= quiesce_deadline_);
  if (must_be_done && (!unanswered_.empty() || accumulated_ > 0)) {
    Violation("stopped with {} pushes unanswered and {} accumulated", unanswered_.size(),
              accumulated_);
  }
}

void CheckedPolicy::CheckSilence() {
  const bool is_under_way = counts_.busy > 0;
  const bool may_find = counts_.out_of_data > 0 && samples_left_ > 0;
  const bool is_waited_for = may_find || counts_.busy + counts_.out_of_data < members_.size();
  const bool was_silent = std::exchange(is_silent_, false);
  if (phase_ != Phase::kOpen || joins_missing_ > 0 || is_under_way) return;
  if (committed_ > published_ || policy_->Deadline()) return;
  if (!is_waited_for && accumulated_ == 0) return;
  is_silent_ = true;
  if (was_silent) return;
  Violation("silence: nobody owes a push, {} accumulated are unpublished, {} unanswered",
            accumulated_, unanswered_.size());
}

void CheckedPolicy::Count(const Member& member, int by) {
  counts_.busy += member.owed > 0 ? by : 0;
  counts_.out_of_data += member.owed == 0 && member.is_out_of_data ? by : 0;
}

void CheckedPolicy::Forget(WorkerId worker) {
  const auto found = members_.find(worker);
  if (found == members_.end()) return;
  asked_.push_back(worker);
  Count(found->second, -1);
  members_.erase(worker);
}

CheckedPolicy::Member* CheckedPolicy::Find(WorkerId worker) {
  const auto found = members_.find(worker);
  return found == members_.end() ? nullptr : &found->second;
}

}  // namespace paceline::sync
