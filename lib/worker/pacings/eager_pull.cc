#include "lib/worker/pacings/eager_pull.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline::worker {
namespace {

// Pushes without an answer when another is handed over: none. Shards answer with their newest
// version; with more on their way nobody could say which of them it holds.
constexpr size_t kUnansweredMax = 0;

std::span<float> Floats(std::span<std::byte> bytes, size_t size_bytes) {
  return {reinterpret_cast<float*>(bytes.data()), size_bytes / sizeof(float)};
}

}  // namespace

EagerPull::EagerPull(Options options, LocalSteps local)
    : TwoThreads(std::move(options), std::move(local)),
      own_(options_.trainer->layout().parameter_bytes() / sizeof(float)) {
  Start();
}

EagerPull::~EagerPull() { Stop(); }

void EagerPull::Release(const protocol::Released& released) {
  options_.transfers->Announce(released.version);
  std::lock_guard lock(mutex_);
  wanted_ = Answer{released.version, released.includes, released.assignment.learning_rate_scale};
  if (turns_.empty() && !is_stepping_ && !made_ && !sent_) has_paused_ = true;
  if (!released.lease.ranges.empty()) turns_.push_back({released.lease, released.learning_rate});
  changed_.notify_all();
}

void EagerPull::Continue(const protocol::Continued& continued) {
  std::lock_guard lock(mutex_);
  turns_.push_back({continued.lease, continued.learning_rate});
  changed_.notify_all();
}

// --- The computing thread.

void EagerPull::ComputeOnce(Lock& lock) {
  if (MaySend()) return Send(lock);
  if (MayTakeIn()) return TakeIn(lock);
  if (MayStep()) return Step(lock);
  stopwatch_.Switch(WaitingFor());
  changed_.wait(lock);
}

bool EagerPull::MaySend() const {
  if (!made_ || sent_) return false;
  // Who leaves gets no answer any more.
  if (is_draining_) return true;
  return own_.LeftAfter(pulled_ ? pulled_->includes : std::nullopt) <= kUnansweredMax;
}

bool EagerPull::MayStep() const {
  return !turns_.empty() && base_ && !made_ && !has_paused_ && !is_spoilt_ && !is_draining_;
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
  if (step.ok()) local_.Step(options_.trainer->push(), turn.learning_rate, values);
  lock.lock();
  is_stepping_ = false;
  changed_.notify_all();
  if (!step.ok()) return GiveUp(turn.lease, step.status());
  made_.emplace();
  made_->tally.Add(*step, turn.lease.id);
  made_->based_on = based_on;
}

void EagerPull::Send(Lock& lock) {
  const std::optional<Answer> answer = std::exchange(pulled_, std::nullopt);
  if (answer) scale_ = answer->scale;
  const double scale = scale_;
  Sent sent{std::move(made_->tally), made_->based_on, {}};
  made_.reset();
  is_stepping_ = is_taking_in_ = true;
  lock.unlock();
  stopwatch_.Switch(Activity::kCommunication);
  const bool is_finite = Scale(scale) && std::isfinite(sent.tally.loss);
  const size_t parameter_bytes = options_.trainer->layout().parameter_bytes();
  if (is_finite) {
    own_.Add(Floats(push_bytes_, parameter_bytes));
  } else {
    own_.AddRejected();
    local_.Forget();
  }
  if (answer) Replace(answer->includes);
  lock.lock();
  is_stepping_ = is_taking_in_ = false;
  if (answer) base_ = answer->version;
  is_spoilt_ = !is_finite && !answer;
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
  const std::span<float> delta = Floats(push_bytes_, parameter_bytes);
  const std::span<float> copy = Floats(values, parameter_bytes);
  for (size_t i = 0; i < delta.size(); ++i) {
    const float scaled = factor * delta[i];
    copy[i] -= delta[i] - scaled;
    delta[i] = scaled;
    check += 0.0f * scaled;
  }
  return check == 0;
}

void EagerPull::Replace(std::optional<Sequence> includes) {
  if (includes) own_.Answered(*includes);
  const std::span<std::byte> values = options_.trainer->parameters();
  std::ranges::copy(pulled_bytes_, values.begin());
  own_.AddTo(Floats(values, options_.trainer->layout().parameter_bytes()));
}

void EagerPull::TakeIn(Lock& lock) {
  const Answer answer = *std::exchange(pulled_, std::nullopt);
  scale_ = answer.scale;
  is_stepping_ = is_taking_in_ = true;
  lock.unlock();
  stopwatch_.Switch(Activity::kCommunication);
  Replace(answer.includes);
  lock.lock();
  is_stepping_ = is_taking_in_ = false;
  base_ = answer.version;
  has_paused_ = is_spoilt_ = false;
  changed_.notify_all();
}

// --- The communicating thread.

bool EagerPull::IsToLeave() const {
  return is_draining_ && !has_left_ && !is_stepping_ && !made_ && !sent_;
}

void EagerPull::CommunicateOnce(Lock& lock) {
  if (sent_) return Push(lock);
  if (!abandoned_.empty()) return TellAbandoned();
  if (MayPull()) return Pull(lock);
  if (IsToLeave()) return TellLeaving();
  changed_.wait(lock);
}

void EagerPull::Push(Lock& lock) {
  const Sent sent = *sent_;
  const Time began = options_.now();
  transfer_time_.Begin(began);
  lock.unlock();
  StatusOr<protocol::PushDone> done =
      options_.transfers->Push(push_bytes_, sent.tally, sent.based_on);
  const Time ended = options_.now();
  if (done.ok()) {
    done->timing = sent.timing;
    done->shard_time = ended - began;
    done->signals = ReadSignals();
  }
  lock.lock();
  transfer_time_.End(ended);
  if (!done.ok()) return Fail(done.status());
  // Named before its answer can come.
  own_.Name(done->sequence);
  sent_.reset();
  changed_.notify_all();
  if (const Status status = options_.session->Send(*done); !status.ok()) Fail(status);
}

void EagerPull::Pull(Lock& lock) {
  Answer answer = *std::exchange(wanted_, std::nullopt);
  // Decided before the last push arrived: the shards may hold that by now, and who pulled could not
  // tell. That push's own answer is on its way.
  if (own_.LeftAfter(answer.includes) > 0) return;
  pulled_.reset();  // A newer one takes its place.
  is_pulling_ = true;
  transfer_time_.Begin(options_.now());
  lock.unlock();
  const StatusOr<Version> pulled =
      options_.transfers->Pull(answer.version, sync::Exactness::kAtLeast, pulled_bytes_);
  lock.lock();
  is_pulling_ = false;
  transfer_time_.End(options_.now());
  if (!pulled.ok()) return Fail(pulled.status());
  answer.version = *pulled;
  pulled_ = answer;
  changed_.notify_all();
}

}  // namespace paceline::worker
