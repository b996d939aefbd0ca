// Defines DelayedTrainer: a Trainer that is slower than it need be, for experiments.
#pragma once

#include <functional>
#include <span>

#include "lib/chaos/delays.h"
#include "lib/worker/loop/pulse.h"
#include "lib/worker/loop/trainer.h"

namespace paceline::worker {

// Sleeps at the end of each step, within it, so that the time counts as computing and nowhere else;
// a step that is given up meanwhile sleeps no more. Its push is handed over as a whole, afterwards.
// Evaluations are not delayed. One owner at a time.
class DelayedTrainer final : public Trainer {
 public:
  // `trainer` outlives this, and so does `pulse`, if there is one. `now` is the steady clock.
  DelayedTrainer(Trainer* trainer, chaos::Delays delays, std::function<Time()> now,
                 Pulse* pulse = nullptr);

  const store::Layout& layout() const override { return trainer_->layout(); }
  uint64_t train_samples() const override { return trainer_->train_samples(); }
  Status BeginAnew() override { return trainer_->BeginAnew(); }
  std::span<std::byte> parameters() override { return trainer_->parameters(); }
  bool computes_anywhere() const override { return trainer_->computes_anywhere(); }
  bool ComputeOn(const std::shared_ptr<rpc::VersionPlace>& place) override {
    return trainer_->ComputeOn(place);
  }
  std::span<const std::byte> push() const override { return trainer_->push(); }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            StepControl& control) override;
  double loss_scale() const override { return trainer_->loss_scale(); }
  StatusOr<Evaluation> Evaluate(const std::function<void()>& on_progress) override {
    return trainer_->Evaluate(on_progress);
  }

  // How long it slept so far, all steps together, those given up included.
  Duration injected() const { return injected_; }

 private:
  // How long it was.
  Duration Sleep(Duration duration, StepControl& control);

  Trainer* const trainer_;
  const chaos::Delays delays_;
  const std::function<Time()> now_;
  Pulse* const pulse_;
  uint64_t steps_ = 0;
  Duration injected_{};
};

}  // namespace paceline::worker
