#include "lib/worker/pacings/eager_pull.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "lib/rpc/retry.h"
#include "lib/worker/pacings/floats.h"

namespace paceline::worker {
namespace {

// Tries to pull again, if the link breaks each time while bytes travel.
constexpr int kBrokenPullsMax = 5;

}  // namespace

EagerPull::EagerPull(Options options, LocalSteps local)
    : Flows(std::move(options), std::move(local)),
      arriving_bytes_(options_.trainer->layout().total_bytes()),
      own_(options_.trainer->layout().parameter_bytes() / sizeof(float)) {
  Start({[this](Lock& lock) { ComputeOnce(lock); }, [this](Lock& lock) { PushOnce(lock); },
         [this](Lock& lock) { PullOnce(lock); }});
}

EagerPull::~EagerPull() { Stop(); }

void EagerPull::Release(const protocol::Released& released) {
  options_.transfers->Announce(released.version);
  std::lock_guard lock(mutex_);
  wanted_ = Answer{released.version, released.includes};
  answered_ = std::max(answered_, released.includes);
  const bool is_busy = is_stepping_ && !is_taking_in_;
  if (turns_.empty() && !is_busy && !made_ && !sent_) has_paused_ = true;
  AddTurn(released.lease, released.learning_rate, released.assignment);
}

void EagerPull::Continue(const protocol::Continued& continued) {
  std::lock_guard lock(mutex_);
  AddTurn(continued.lease, continued.learning_rate, continued.assignment);
}

void EagerPull::AddTurn(const protocol::Lease& lease, double learning_rate,
                        const sync::Assignment& assignment) {
  scale_ = assignment.learning_rate_scale;
  depth_ = assignment.depth;
  if (!lease.ranges.empty()) turns_.push_back({lease, learning_rate});
  changed_.notify_all();
}

// --- The computing thread.

void EagerPull::ComputeOnce(Lock& lock) {
  NameOwn();
  if (MaySend()) return Send(lock);
  if (MayTakeIn()) return TakeIn(lock);
  if (MayStep()) return Step(lock);
  stopwatch_.Switch(WaitingFor());
  changed_.wait(lock);
}

void EagerPull::NameOwn() {
  for (; !names_.empty(); names_.pop_front()) own_.Name(names_.front());
}

bool EagerPull::MayStep() const {
  if (turns_.empty() || !base_ || made_ || has_paused_ || is_spoilt_ || is_draining_) return false;
  return own_.size() <= depth_;
}

// Beside computation nothing counts. What is left is a transfer, the shards' and the coordinator's
// work on a push included, or an answer that is held back, or no samples.
Activity EagerPull::WaitingFor() const {
  return sent_ || wanted_ || is_pulling_ ? Activity::kCommunication : Activity::kWait;
}

void EagerPull::Step(Lock& lock) {
  const Turn turn = std::move(turns_.front());
  turns_.pop_front();
  const Version based_on = *base_;
  is_stepping_ = true;
  lock.unlock();
  stopwatch_.Switch(Activity::kCompute);
  const std::span<std::byte> values = options_.trainer->parameters();
  local_.Begin(values);
  const StatusOr<StepResult> step = MakeStep(turn.lease);
  if (step.ok()) {
    local_.Step(options_.trainer->push(), turn.learning_rate, values, step->without_gradient);
  }
  lock.lock();
  is_stepping_ = false;
  changed_.notify_all();
  if (!step.ok()) return GiveUp(turn.lease, step.status());
  made_.emplace();
  made_->tally.Add(*step, turn.lease.id);
  made_->based_on = based_on;
}

void EagerPull::Send(Lock& lock) {
  const double scale = scale_;
  Sent sent{std::move(made_->tally), made_->based_on, {}};
  made_.reset();
  is_stepping_ = true;
  lock.unlock();
  stopwatch_.Switch(Activity::kCommunication);
  const bool is_finite = Scale(scale) && std::isfinite(sent.tally.loss);
  if (is_finite) {
    own_.Add(Floats(std::span(push_bytes_), options_.trainer->layout().parameter_bytes()));
  } else {
    own_.AddRejected();
    local_.Forget();
  }
  lock.lock();
  is_stepping_ = false;
  is_spoilt_ = is_spoilt_ || !is_finite;
  sent.timing = stopwatch_.Take();
  sent.timing.overlapped = transfer_time_.TakeOverlapped(options_.now(), sent.timing);
  sent_ = std::move(sent);
  changed_.notify_all();
}

bool EagerPull::Scale(double scale) {
  const std::span<std::byte> values = options_.trainer->parameters();
  local_.Cut(values, push_bytes_);
  const auto factor = static_cast<float>(scale);
  float check = 0;  // Not 0 any more once anything is infinite or no number.
  const size_t parameter_bytes = options_.trainer->layout().parameter_bytes();
  const std::span<float> delta = Floats(std::span(push_bytes_), parameter_bytes);
  const std::span<float> copy = Floats(values, parameter_bytes);
  for (size_t i = 0; i < delta.size(); ++i) {
    const float scaled = factor * delta[i];
    copy[i] -= delta[i] - scaled;
    delta[i] = scaled;
    check += 0.0f * scaled;
  }
  return check == 0;
}

void EagerPull::TakeIn(Lock& lock) {
  const Answer answer = *std::exchange(pulled_, std::nullopt);
  is_stepping_ = is_taking_in_ = true;
  lock.unlock();
  stopwatch_.Switch(Activity::kCommunication);
  if (answer.includes) own_.Answered(*answer.includes);
  const std::span<std::byte> values = options_.trainer->parameters();
  std::ranges::copy(pulled_bytes_, values.begin());
  own_.AddTo(Floats(values, options_.trainer->layout().parameter_bytes()));
  lock.lock();
  is_stepping_ = is_taking_in_ = false;
  base_ = answer.version;
  is_spoilt_ = false;
  // After a pause the newest is waited for.
  if (!wanted_ && !is_pulling_) has_paused_ = false;
  changed_.notify_all();
}

// --- The pushing thread.

bool EagerPull::IsToLeave() const {
  return is_draining_ && !has_left_ && !is_stepping_ && !made_ && !sent_;
}

void EagerPull::PushOnce(Lock& lock) {
  if (sent_ && MayPush()) return Push(lock);
  if (!sent_ && !abandoned_.empty()) return TellAbandoned();
  if (IsToLeave()) return TellLeaving();
  changed_.wait(lock);
}

void EagerPull::Push(Lock& lock) {
  const Sent sent = *sent_;
  const Time began = options_.now();
  is_pushing_ = true;
  transfer_time_.Begin(began);
  lock.unlock();
  StatusOr<protocol::PushDone> done =
      options_.transfers->Push(PushKind::kDelta, push_bytes_, sent.tally, sent.based_on);
  const Time ended = options_.now();
  if (done.ok()) {
    done->timing = sent.timing;
    done->shard_time = ended - began;
    done->signals = ReadSignals();
  }
  lock.lock();
  is_pushing_ = false;
  transfer_time_.End(ended);
  if (!done.ok()) return Fail(done.status());
  // Named before its answer can come.
  names_.push_back(done->sequence);
  pushed_ = done->sequence;
  sent_.reset();
  changed_.notify_all();
  if (const Status status = options_.session->Send(*done); !status.ok()) Fail(status);
}

// --- The pulling thread.

bool EagerPull::MayPull() const { return wanted_ && !is_pulling_ && IsAnswered() && !is_draining_; }

void EagerPull::PullOnce(Lock& lock) {
  if (!MayPull()) return changed_.wait(lock);
  Answer answer = *std::exchange(wanted_, std::nullopt);
  is_pulling_ = is_naming_ = true;
  transfer_time_.Begin(options_.now());
  lock.unlock();
  bool was_named = false;
  const StatusOr<Version> pulled = options_.transfers->Pull(
      answer.version, sync::Exactness::kAtLeast, arriving_bytes_, [this, &was_named] {
        std::lock_guard naming(mutex_);
        was_named = true;
        is_naming_ = false;
        changed_.notify_all();
      });
  lock.lock();
  transfer_time_.End(options_.now());
  changed_.wait(lock, [this] { return !is_taking_in_; });
  is_pulling_ = is_naming_ = false;
  changed_.notify_all();
  if (!pulled.ok()) return PulledInVain(answer, pulled.status(), was_named);
  broken_pulls_ = 0;
  answer.version = *pulled;
  pulled_ = answer;  // Whatever was there and not used is older.
  pulled_bytes_.swap(arriving_bytes_);
}

// Nobody has repeated a pull whose versions were named: a new one would bring pushes of which the
// answer says nothing. The newest answer does, once it is here.
void EagerPull::PulledInVain(const Answer& answer, const Status& why, bool was_named) {
  if (!was_named || !rpc::IsRetryable(why) || ++broken_pulls_ > kBrokenPullsMax) return Fail(why);
  if (!wanted_) wanted_ = answer;
}

}  // namespace paceline::worker
