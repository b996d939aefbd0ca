#include "lib/worker/pacings/flows.h"

#include <utility>

namespace paceline::worker {

Flows::Flows(Options options, LocalSteps local)
    : options_(std::move(options)),
      local_(std::move(local)),
      stopwatch_(options_.now),
      push_bytes_(options_.trainer->layout().total_bytes()),
      pulled_bytes_(options_.trainer->layout().total_bytes()),
      stop_(options_.now) {}

void Flows::Start(std::vector<Once> flows) {
  for (Once& once : flows) threads_.emplace_back([this, once = std::move(once)] { Run(once); });
}

void Flows::Stop() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  stop_.Stop();
  for (std::thread& thread : threads_) thread.join();
}

void Flows::Run(const Once& once) {
  Lock lock(mutex_);
  while (!is_stopping_) once(lock);
  const bool has_failed = !status_.ok();
  lock.unlock();
  // Whoever waits for orders learns of it so. Not while holding the lock: it may take seconds.
  if (has_failed) options_.session->Close();
}

void Flows::Drain(const protocol::Leaving& leaving) {
  std::lock_guard lock(mutex_);
  if (!is_draining_) leaving_ = leaving;
  is_draining_ = true;
  stop_.Hurry();
  changed_.notify_all();
}

Status Flows::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void Flows::Fail(const Status& status) {
  if (is_stopping_) return;
  status_ = status;
  is_stopping_ = true;
  stop_.Stop();
  changed_.notify_all();
}

StatusOr<StepResult> Flows::MakeStep(const protocol::Lease& lease) {
  StatusOr<StepResult> step = options_.trainer->Step(lease.ranges, stop_);
  if (step.ok()) {
    stopwatch_.Injected(step->injected);
    stopwatch_.Paused(step->paused);
  }
  return step;
}

sync::Signals Flows::ReadSignals() const {
  return options_.read_signals ? options_.read_signals(options_.now()) : sync::Signals{};
}

void Flows::GiveUp(const protocol::Lease& lease, const Status& why) {
  uint64_t samples = 0;
  for (const protocol::SampleRange& range : lease.ranges) samples += range.size();
  const std::optional<sync::AbandonReason> reason = AbandonReasonOf(why, samples);
  const bool is_too_large = reason == sync::AbandonReason::kOutOfMemory;
  if (is_too_large || reason == sync::AbandonReason::kOverflow) {
    abandoned_.push_back({.reason = *reason,
                          .samples_fit = is_too_large ? LargestThoughtToFit(samples) : 0,
                          .leases = {lease.id},
                          .loss_scale = options_.trainer->loss_scale()});
    (void)stopwatch_.Take();  // What came to nothing says nothing of the next step's speed.
    changed_.notify_all();
    return;
  }
  if (is_stopping_) return;  // That is why.
  (void)options_.session->Send(FailingOf(why));
  // Internal, whatever the trainer called it: no new session mends it.
  Fail(Internal("step failed: {}", Message(why)));
}

void Flows::TellAbandoned() {
  protocol::Abandoned told =
      options_.transfers->Abandon(abandoned_.front().reason, std::move(abandoned_.front().leases));
  told.samples_fit = abandoned_.front().samples_fit;
  told.loss_scale = abandoned_.front().loss_scale;
  abandoned_.pop_front();
  if (const Status status = options_.session->Send(told); !status.ok()) Fail(status);
}

void Flows::TellLeaving() {
  has_left_ = true;
  (void)options_.session->Send(leaving_);
}

}  // namespace paceline::worker
