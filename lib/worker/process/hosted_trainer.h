// Defines HostedTrainer: a Trainer whose steps are computed by another thread, one that belongs to
// somebody else: a Python program's own.
//
// The loop calls Step and waits there; the host takes the step with Next, computes it on the values
// that it gave, hands its gradients over and says that it is done. There is one loop, whoever
// computes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/epoch_order.h"
#include "lib/base/next_ranges.h"
#include "lib/rpc/shared_memory/version_window.h"
#include "lib/telemetry/clock.h"
#include "lib/worker/loop/drawn_epochs.h"
#include "lib/worker/loop/trainer.h"
#include "lib/worker/process/usual_gap.h"

namespace paceline::worker {

// What the host is asked to do next.
struct HostedWork {
  // kDraw: the host is to draw `epoch` and Drew it, and to ask again.
  enum class Kind { kNothing, kStep, kEvaluate, kOver, kDraw };
  Kind kind = Kind::kNothing;
  std::vector<uint32_t> samples;              // kStep: of the training set, in this order.
  std::vector<protocol::SampleRange> ranges;  // kStep: where in which epoch's order they stand.
  uint64_t epoch = 0;                         // kDraw.
};

// Methods of Trainer: the loop's, one owner at a time. All others: the host's, from one thread at a
// time, Close and Over from any.
class HostedTrainer final : public Trainer {
 public:
  struct Options {
    store::Layout layout;
    // Arranged as the layout: the initial values at first, from then on what each step computes on.
    // The host's memory, which outlives this.
    std::span<std::byte> values;
    uint64_t train_samples = 0;
    uint64_t epochs = 0;  // Of the job; 0: nobody knows.
    uint64_t seed = 0;    // Of the epochs' orders.
    // Of which `values` are the bytes: versions are shown there. Null: they are copied.
    std::shared_ptr<rpc::VersionWindow> window = nullptr;
    std::function<Time()> now = telemetry::SteadyNow;
    // The script's own, by its name: an epoch is what the host draws for it. Empty: it is the whole
    // training set, shuffled.
    std::string sampler = {};
  };
  explicit HostedTrainer(Options options);

  const store::Layout& layout() const override { return options_.layout; }
  uint64_t train_samples() const override { return options_.train_samples; }
  Status BeginAnew() override;
  std::span<std::byte> parameters() override { return options_.values; }
  bool computes_anywhere() const override;
  bool ComputeOn(const std::shared_ptr<rpc::VersionPlace>& place) override;
  std::span<const std::byte> push() const override { return push_; }
  // Cancelled too if nobody has taken it when the host closes. As long as nobody does it does not
  // progress: a host that never comes hangs.
  StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                            StepControl& control) override;
  StatusOr<Evaluation> Evaluate(const std::function<void()>& on_progress) override;

  // --- The host.

  // Waits so long for something to do; kNothing then. What was taken before has to be done with.
  // `values` are what to compute on until it is.
  HostedWork Next(Duration timeout);
  // The host computes the step that it has taken: what it did since that was offered was its own.
  // The first time counts; without it the whole step is the host's own. A pause is no part of the
  // worker's time (usual_gap.h).
  void Begin();
  // What the script's sampler has drawn for the epoch: as many as it has samples, of the training
  // set. InvalidArgument for another number. The last few epochs are kept.
  Status Drew(uint64_t epoch, std::span<const uint32_t> samples);
  // The samples of the step that comes `ahead` steps behind the one offered last, one or more, as
  // far as they can be guessed (lib/base/next_ranges.h): nobody has promised them. Empty: not.
  std::vector<uint32_t> Expect(uint64_t ahead);
  // Of a step: whether it is still wanted. Of an evaluation: true. Both count as a sign of
  // progress.
  bool MayGoOn();
  // The gradient of the layout's tensor of that index, a parameter, once a step: as many floats as
  // it has. Copied before this returns. InvalidArgument, naming the tensor, for any other.
  Status Hand(size_t tensor, std::span<const std::byte> gradient);
  // How many samples the step has that is taken.
  uint64_t samples() const { return work_.samples.size(); }
  bool has_handed() const;  // Of that step, any gradient.
  // The step is done: parameters whose gradients were not handed over have none, and buffers are
  // what `values` hold. `samples`: those that loss and gradients are means over, at most those
  // taken; the others are skipped. With 0 nothing is to be handed over, and buffers get the values
  // that the step began with.
  void EndStep(double loss, uint64_t samples, uint64_t correct);
  // It is not: as of Trainer::Step. Buffers get the values that it began with.
  void GiveUpStep(const Status& why);
  void EndEvaluation(StatusOr<Evaluation> evaluation);

  // The host takes no more work.
  void Close();
  // The loop has ended: Next says so from now on, once nothing is in work.
  void Over();

  // For the loop.
  DrawnEpochs* drawn() { return &drawn_; }

 private:
  enum class State { kIdle, kOffered, kTaken, kDone };
  bool IsDrawn(uint64_t epoch) const;
  // In bounds. False: the host has not drawn that epoch.
  bool Collect(const EpochRange& range, std::vector<uint32_t>& samples);
  // Fills in the samples of work_. The epoch to be drawn before that, if there is one.
  std::optional<uint64_t> CollectWork();
  // Offers work_ and waits until it is done. Cancelled, as of Step.
  Status Offer(std::unique_lock<std::mutex>& lock);
  void Done();  // Of the lock's holder.
  void Put(uint64_t offset_bytes, std::span<const std::byte> part);
  std::span<std::byte> Buffers() const {
    return options_.values.subspan(options_.layout.parameter_bytes());
  }

  const Options options_;
  DrawnEpochs drawn_;
  std::vector<std::byte> initial_;
  std::vector<std::byte> push_;  // Where a step's push does not go in pieces.

  std::mutex mutex_;  // Guards what is below, but for what whoever computes has while kTaken.
  std::condition_variable changed_;
  EpochOrder order_;
  std::map<uint64_t, std::vector<uint32_t>> drawn_samples_;  // By epoch, in the place of order_.
  NextRanges next_;
  State state_ = State::kIdle;
  bool is_closed_ = false;
  bool is_over_ = false;
  HostedWork work_;
  StepControl* control_ = nullptr;  // Of the step offered or taken.
  const std::function<void()>* on_progress_ = nullptr;
  std::vector<bool> is_handed_;
  std::vector<std::byte> saved_buffers_;
  Time offered_;
  bool has_begun_ = false;
  Duration paused_{};
  UsualGap gaps_;
  StatusOr<StepResult> step_ = StepResult();
  StatusOr<Evaluation> evaluation_ = Evaluation();
};

}  // namespace paceline::worker
