// Defines PulsingTrainer: a Trainer that says how far its steps have come.
#pragma once

#include <span>

#include "lib/worker/loop/pulse.h"
#include "lib/worker/loop/trainer.h"

namespace paceline::worker {

// Inside of whatever delays on purpose, so that only the trainer's own time counts as computing.
// One owner at a time.
class PulsingTrainer final : public Trainer {
 public:
  // Both outlive this.
  PulsingTrainer(Trainer* trainer, Pulse* pulse) : trainer_(trainer), pulse_(pulse) {}

  const store::Layout& layout() const override { return trainer_->layout(); }
  uint64_t train_samples() const override { return trainer_->train_samples(); }
  Status BeginAnew() override { return trainer_->BeginAnew(); }
  std::span<std::byte> parameters() override { return trainer_->parameters(); }
  std::span<const std::byte> push() const override { return trainer_->push(); }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            const KeepGoing& keep_going) override {
    pulse_->BeginStep();
    StatusOr<StepResult> result = trainer_->Step(ranges, [&] {
      pulse_->Tick();
      return !keep_going || keep_going();
    });
    pulse_->EndStep();
    return result;
  }
  StatusOr<Evaluation> Evaluate(const std::function<void()>& on_progress) override {
    pulse_->BeginStep();
    StatusOr<Evaluation> result = trainer_->Evaluate([&] {
      pulse_->Tick();
      if (on_progress) on_progress();
    });
    pulse_->EndStep();
    return result;
  }

 private:
  Trainer* const trainer_;
  Pulse* const pulse_;
};

}  // namespace paceline::worker
