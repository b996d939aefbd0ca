#include "lib/worker/loop/delayed_trainer.h"

#include <utility>

namespace paceline::worker {
namespace {

// The delay stands for computing: what is handed over before it is over would be there too early,
// and travel while the worker only pretends to be slow.
class Withholding final : public StepControl {
 public:
  explicit Withholding(StepControl* control) : control_(control) {}
  bool MayGoOn() override { return control_->MayGoOn(); }
  void Sleep(Duration duration) override { control_->Sleep(duration); }
  rpc::BegunPush* push() override { return nullptr; }

 private:
  StepControl* const control_;
};

}  // namespace

DelayedTrainer::DelayedTrainer(Trainer* trainer, chaos::Delays delays, std::function<Time()> now,
                               Pulse* pulse)
    : trainer_(trainer), delays_(std::move(delays)), now_(std::move(now)), pulse_(pulse) {}

StatusOr<StepResult> DelayedTrainer::Step(std::span<const protocol::SampleRange> ranges,
                                          StepControl& control) {
  const Time begin = now_();
  Withholding withholding(&control);
  PACELINE_ASSIGN_OR_RETURN(StepResult result, trainer_->Step(ranges, withholding));
  // A step that failed is no step: its number goes to the one that takes its place. One that is
  // given up in its sleep has used its own, so that the next one's delay is drawn anew.
  const Duration sleep = delays_.After(
      {.index = steps_++, .samples = result.samples, .compute = now_() - begin - result.paused});
  const Duration slept = Sleep(sleep, control);
  result.injected += slept;
  injected_ += slept;
  if (slept > Duration::zero() && !control.MayGoOn())
    return Cancelled("step interrupted after {:.3f} s of an injected delay", ToSeconds(slept));
  return result;
}

Duration DelayedTrainer::Sleep(Duration duration, StepControl& control) {
  if (duration <= Duration::zero()) return {};
  const Pulse::Delayed delayed(pulse_);
  const Time begin = now_();
  control.Sleep(duration);
  return now_() - begin;
}

}  // namespace paceline::worker
