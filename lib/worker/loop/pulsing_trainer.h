// Defines PulsingTrainer: a Trainer that says how far its steps have come. Each question whether to
// go on, at a micro-batch or a gradient, is a sign of progress.
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
  bool computes_anywhere() const override { return trainer_->computes_anywhere(); }
  bool ComputeOn(const std::shared_ptr<rpc::VersionPlace>& place) override {
    return trainer_->ComputeOn(place);
  }
  std::span<const std::byte> push() const override { return trainer_->push(); }
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            StepControl& control) override {
    pulse_->BeginStep();
    Ticking ticking(pulse_, &control);
    StatusOr<StepResult> result = trainer_->Step(ranges, ticking);
    pulse_->EndStep();
    return result;
  }
  double loss_scale() const override { return trainer_->loss_scale(); }
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
  class Ticking final : public StepControl {
   public:
    Ticking(Pulse* pulse, StepControl* control) : pulse_(pulse), control_(control) {}
    bool MayGoOn() override {
      pulse_->Tick();
      return control_->MayGoOn();
    }
    void Sleep(Duration duration) override { control_->Sleep(duration); }
    rpc::BegunPush* push() override { return control_->push(); }
    void EnterScript() override { pulse_->EnterScript(); }
    void LeaveScript() override { pulse_->LeaveScript(); }

   private:
    Pulse* const pulse_;
    StepControl* const control_;
  };

  Trainer* const trainer_;
  Pulse* const pulse_;
};

}  // namespace paceline::worker
