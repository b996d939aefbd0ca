#include "lib/worker/loop/delayed_trainer.h"

#include <utility>

namespace paceline::worker {

DelayedTrainer::DelayedTrainer(Trainer* trainer, chaos::Delays delays, std::function<Time()> now,
                               Pulse* pulse)
    : trainer_(trainer), delays_(std::move(delays)), now_(std::move(now)), pulse_(pulse) {}

StatusOr<StepResult> DelayedTrainer::Step(std::span<const protocol::SampleRange> ranges,
                                          const KeepGoing& keep_going) {
  const Time begin = now_();
  PACELINE_ASSIGN_OR_RETURN(StepResult result, trainer_->Step(ranges, keep_going));
  // A step that failed is no step: its number goes to the one that takes its place.
  const Duration sleep =
      delays_.After({.index = steps_++, .samples = result.samples, .compute = now_() - begin});
  result.injected += Sleep(sleep);
  injected_ += result.injected;
  return result;
}

Duration DelayedTrainer::Sleep(Duration duration) {
  if (duration <= Duration::zero()) return {};
  const Pulse::Delayed delayed(pulse_);
  const Time begin = now_();
  std::unique_lock lock(mutex_);
  cut_.wait_for(lock, duration, [this] { return is_cut_; });
  return now_() - begin;
}

void DelayedTrainer::CutShort() {
  std::lock_guard lock(mutex_);
  is_cut_ = true;
  cut_.notify_all();
}

}  // namespace paceline::worker
