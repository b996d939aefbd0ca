// Defines Trainer: what the worker's loop wants of a model and its data. The loop sees no torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/protocol/worker_messages.h"
#include "lib/rpc/bulk/begun_push.h"
#include "lib/rpc/bulk/version_place.h"
#include "lib/store/layout.h"

namespace paceline::worker {

// Of a step's error: protocol::Failing::cause, attached by a trainer that knows it (WithDetail).
inline constexpr const char* kCauseDetail = "cause";

struct StepResult {
  double loss = 0;  // Mean over the samples that are not skipped.
  uint64_t samples = 0;
  uint64_t correct = 0;    // Of the samples, where accuracy is defined.
  Duration injected{};     // Of the step's time, slept on purpose.
  Duration paused{};       // Of the step's time, a pause that says nothing of the worker's speed.
  bool is_handed = false;  // The push went to StepControl::push, whole; Trainer::push is undefined.
  double loss_scale = 0;   // As Trainer::loss_scale says now.
  // Parameters that the loss does not depend on: the push has zeros there, and they are not to be
  // stepped. By place in the layout, ascending.
  std::vector<uint32_t> without_gradient = {};
  uint64_t skipped = 0;  // Of the samples: nothing was computed of them.
};

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;         // 0..1; nothing where it cannot be told.
  std::string accuracy_from;              // What it is of, or why there is none; for people.
  std::map<std::string, double> metrics;  // The model's own.
  uint64_t samples = 0;
};

// What a running step asks, and sleeps by. Thread-safe.
class StepControl {
 public:
  virtual ~StepControl() = default;
  // Whether the step is still wanted. Asked wherever it can end: between micro-batches and at each
  // gradient of a backward pass. Never blocks; costs next to nothing.
  virtual bool MayGoOn() = 0;
  // Sleeps on purpose: so long, or until the step is wanted no more or somebody is in a hurry.
  virtual void Sleep(Duration duration) = 0;
  // Where the step's push may go in pieces while it is computed. Of the thread that computes. Null:
  // it is to be left in Trainer::push.
  virtual rpc::BegunPush* push() { return nullptr; }
  // Of a step whose time is another program's too: what follows is no part of the step, or is
  // again. A step begins as part of itself.
  virtual void EnterScript() {}
  virtual void LeaveScript() {}
};

// One model, its training set and, for an evaluator, its held-out set. One owner at a time; may
// move between threads from call to call.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual const store::Layout& layout() const = 0;
  virtual uint64_t train_samples() const = 0;

  // The model as it was before the first Step, for a job that begins anew. Errors as of its making.
  virtual Status BeginAnew() = 0;

  // The model's own memory, arranged as the layout. What is written here is what the next Step
  // computes on.
  virtual std::span<std::byte> parameters() = 0;
  // Whether ComputeOn may come to say true.
  virtual bool computes_anywhere() const { return false; }
  // True: as long as it is not told otherwise, it computes on the parameters at `place` and not on
  // its own, which are then anything; buffers are copied now. Null: on its own again, whose values
  // are those before or anything. False: it computes on its own alone.
  virtual bool ComputeOn(const std::shared_ptr<rpc::VersionPlace>& /*place*/) { return false; }
  // What the last Step left to push: mean gradients in the place of the parameters, then the
  // buffers' new values. Valid until the next Step.
  virtual std::span<const std::byte> push() const = 0;

  // Forward and backward over the ranges, in their order. Errors: OutOfRange (positions beyond the
  // data set), ResourceExhausted (out of memory; parameters untouched), Cancelled (it may
  // not go on; parameters and buffers untouched), Aborted (gradients overflowed under loss scaling,
  // and the next step's scale is lower; likewise), Internal (LibTorch). push() is then undefined.
  virtual StatusOr<StepResult> Step(std::span<const protocol::SampleRange> ranges,
                                    StepControl& control) = 0;

  // What the next Step multiplies its loss by; 0 without loss scaling.
  virtual double loss_scale() const { return 0; }

  // Loss, accuracy and metrics over the whole held-out set, in evaluation mode; says each batch of
  // it to `on_progress`, if that is set. FailedPrecondition without such a set.
  virtual StatusOr<Evaluation> Evaluate(const std::function<void()>& on_progress) = 0;
};

}  // namespace paceline::worker
