#include "lib/worker/pacings/overlapped.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline::worker {

Overlapped::Overlapped(Options options, LocalSteps local)
    : Flows(std::move(options), std::move(local)) {
  Start({[this](Lock& lock) { ComputeOnce(lock); }, [this](Lock& lock) { CommunicateOnce(lock); }});
}

Overlapped::~Overlapped() { Stop(); }

void Overlapped::Add(Turn turn) {
  assignment_ = turn.assignment;
  turns_.push_back(std::move(turn));
  changed_.notify_all();
}

void Overlapped::Release(const protocol::Released& released) {
  options_.transfers->Announce(released.version);
  std::lock_guard lock(mutex_);
  Want(released.version);
  Add({released.lease, released.assignment, released.learning_rate, released.version});
}

void Overlapped::Want(Version version) { wanted_ = std::max(wanted_.value_or(version), version); }

void Overlapped::Continue(const protocol::Continued& continued) {
  std::lock_guard lock(mutex_);
  Add({continued.lease, continued.assignment, continued.learning_rate, Version()});
}

void Overlapped::Offer(Version version) {
  options_.transfers->Announce(version);
  std::lock_guard lock(mutex_);
  Want(version);
  changed_.notify_all();
}

// --- The computing thread.

void Overlapped::ComputeOnce(Lock& lock) {
  if (MayTakeOver()) return TakeOver(lock);
  if (MayCutOff()) return CutOff(lock);
  if (MayStep()) return Step(lock);
  stopwatch_.Switch(WaitingFor());
  changed_.wait(lock);
}

// Who stands still because something travels communicates; the rest is for want of a lease.
Activity Overlapped::WaitingFor() const {
  return push_ || HasToFetch() ? Activity::kCommunication : Activity::kWait;
}

bool Overlapped::MayTakeOver() const {
  if (!incoming_) return false;
  // What is not to be kept on top of the version is cut off first.
  const bool is_kept = assignment_.on_pull == sync::OnPull::kRebase && !is_spoilt_;
  return unpushed_.steps == 0 || is_kept;
}

bool Overlapped::MayStep() const {
  if (turns_.empty() || is_draining_ || is_spoilt_ || !base_) return false;
  // A version that is here is taken over first.
  return *base_ >= turns_.front().needs && !incoming_;
}

void Overlapped::TakeOver(Lock& lock) {
  const bool is_forgotten =
      is_spoilt_ || assignment_.momentum_on_pull == sync::MomentumOnPull::kReset;
  const bool is_overwritten = is_spoilt_ || unpushed_.steps == 0;
  lock.unlock();
  stopwatch_.Switch(Activity::kCommunication);
  const std::span<std::byte> values = options_.trainer->parameters();
  if (is_overwritten) {
    std::ranges::copy(pulled_bytes_, values.begin());
    local_.Begin(values);
  } else {
    local_.Rebase(pulled_bytes_, values);
  }
  if (is_forgotten) local_.Forget();
  lock.lock();
  base_ = *std::exchange(incoming_, std::nullopt);
  is_spoilt_ = false;
  changed_.notify_all();
}

void Overlapped::CutOff(Lock& lock) {
  lock.unlock();
  stopwatch_.Switch(Activity::kCommunication);
  local_.Cut(options_.trainer->parameters(), push_bytes_);
  lock.lock();
  sync::Timing timing = stopwatch_.Take();
  timing.overlapped = transfer_time_.TakeOverlapped(options_.now(), timing);
  push_ = Cut{std::exchange(unpushed_, {}), *base_, timing};
  changed_.notify_all();
}

void Overlapped::Step(Lock& lock) {
  const Turn turn = std::move(turns_.front());
  turns_.pop_front();
  is_stepping_ = true;
  lock.unlock();
  stopwatch_.Switch(Activity::kCompute);
  const StatusOr<StepResult> step = MakeStep(turn.lease);
  if (step.ok()) {
    local_.Step(options_.trainer->push(), turn.learning_rate * turn.assignment.learning_rate_scale,
                options_.trainer->parameters(), step->without_gradient);
  }
  lock.lock();
  is_stepping_ = false;
  changed_.notify_all();
  if (!step.ok()) return GiveUp(turn.lease, step.status());
  unpushed_.Add(*step, turn.lease.id);
  if (!std::isfinite(step->loss)) is_spoilt_ = true;
}

// --- The communicating thread.

bool Overlapped::HasToFetch() const {
  if (incoming_ || is_draining_ || !wanted_) return false;
  if (is_spoilt_) return unpushed_.steps == 0 && !push_;
  return !base_ || *wanted_ > *base_;
}

bool Overlapped::IsToLeave() const {
  return is_draining_ && !has_left_ && !is_stepping_ && unpushed_.steps == 0 && !push_;
}

void Overlapped::CommunicateOnce(Lock& lock) {
  if (!abandoned_.empty()) return TellAbandoned();
  if (push_ && !(is_fetch_next_ && HasToFetch())) return Push(lock);
  if (HasToFetch()) return Fetch(lock);
  if (IsToLeave()) return TellLeaving();
  changed_.wait(lock);
}

void Overlapped::Push(Lock& lock) {
  const Cut cut = *push_;
  is_fetch_next_ = true;
  const Time began = options_.now();
  transfer_time_.Begin(began);
  lock.unlock();
  StatusOr<protocol::PushDone> done =
      options_.transfers->Push(PushKind::kDelta, push_bytes_, cut.tally, cut.based_on);
  const Time ended = options_.now();
  Status status = done.status();
  if (status.ok()) {
    done->timing = cut.timing;
    done->shard_time = ended - began;
    done->signals = ReadSignals();
    status = options_.session->Send(*done);
  }
  lock.lock();
  transfer_time_.End(ended);
  if (!status.ok()) return Fail(status);
  if (!done->gradient.is_finite) is_spoilt_ = true;
  push_.reset();
  changed_.notify_all();
}

void Overlapped::Fetch(Lock& lock) {
  const Version version = *wanted_;
  is_fetch_next_ = false;
  transfer_time_.Begin(options_.now());
  lock.unlock();
  const StatusOr<Version> fetched =
      options_.transfers->Pull(version, sync::Exactness::kExact, pulled_bytes_);
  lock.lock();
  transfer_time_.End(options_.now());
  if (!fetched.ok()) return Fail(fetched.status());
  incoming_ = *fetched;
  changed_.notify_all();
}

}  // namespace paceline::worker
