#include "lib/worker/loop/step_stop.h"

#include <algorithm>
#include <utility>

namespace paceline::worker {

void StepStop::Sleep(Duration duration) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, duration, [this] { return is_hurried_ || !MayGoOn(); });
}

void StepStop::Reset() {
  std::lock_guard lock(mutex_);
  running_.reset();
  ordered_ = Sequence();
  interrupted_.reset();
  may_go_on_.store(!is_stopped_, std::memory_order_release);
}

void StepStop::Begin(Sequence sequence) {
  std::lock_guard lock(mutex_);
  running_ = sequence;
  if (interrupted_) {
    const Duration until_next = now_() - *std::exchange(interrupted_, std::nullopt);
    ++cost_.steps;
    cost_.until_stopped += until_stopped_;
    cost_.until_next += until_next;
    cost_.until_next_max = std::max(cost_.until_next_max, until_next);
  }
  may_go_on_.store(!is_stopped_, std::memory_order_release);
  Heed();
}

void StepStop::End(const Status& how) {
  std::lock_guard lock(mutex_);
  running_.reset();
  // Too late for a step that was done, and no reason for another failure.
  if (how.code() != StatusCode::kCancelled) interrupted_.reset();
  if (interrupted_) until_stopped_ = now_() - *interrupted_;
}

void StepStop::Interrupt(Sequence sequence) {
  std::lock_guard lock(mutex_);
  if (sequence <= ordered_) return;
  ordered_ = sequence;
  ordered_at_ = now_();
  Heed();
}

void StepStop::Heed() {
  if (!running_ || ordered_ != *running_) return;
  interrupted_ = ordered_at_;
  may_go_on_.store(false, std::memory_order_release);
  changed_.notify_all();
}

void StepStop::Stop() {
  std::lock_guard lock(mutex_);
  is_stopped_ = true;
  may_go_on_.store(false, std::memory_order_release);
  changed_.notify_all();
}

void StepStop::Hurry() {
  std::lock_guard lock(mutex_);
  is_hurried_ = true;
  changed_.notify_all();
}

StepStop::Cost StepStop::cost() const {
  std::lock_guard lock(mutex_);
  return cost_;
}

}  // namespace paceline::worker
