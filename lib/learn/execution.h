// Defines how a network runs over samples: the thread's settings, loss and outputs, and the trial
// run that finds what does not fit. Private to lib/learn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "lib/base/status.h"
#include "lib/learn/data/batch.h"
#include "lib/learn/data/dataset.h"
#include "lib/learn/loss.h"
#include "lib/learn/model_state.h"
#include "lib/learn/precision.h"

namespace paceline::learn {

// What a thread must have set while it runs a network; given back at the end. The optimising
// executor of TorchScript is off: it makes the first steps several times as slow, and later ones no
// faster.
class ExecutionScope {
 public:
  explicit ExecutionScope(int threads);
  ~ExecutionScope();
  ExecutionScope(const ExecutionScope&) = delete;
  ExecutionScope& operator=(const ExecutionScope&) = delete;

 private:
  ScriptOptimizer script_optimizer_;
};

// The loss of a batch, a scalar; `outputs` has none where the network's own method gave it.
struct Computed {
  at::Tensor loss;
  Outputs outputs;
};
// Without `loss` the network's own method counts. Throws where there is `loss` and no outputs.
Computed Compute(Net& net, const std::optional<Loss>& loss, const Batch& batch);

// What a step's micro-batches came to. On a GPU it is known only once that has computed them, and
// to wait for it between them would leave it idle: read once all is queued.
class StepFigures {
 public:
  // A micro-batch of that share of the step's samples.
  void Add(const Computed& computed, const at::Tensor& targets, double share);

  struct Read {
    double loss = 0;  // Mean over the samples.
    Judged judged;
  };
  // Waits for the device.
  Read Get() const;

 private:
  struct MicroBatch {
    at::Tensor loss;
    at::Tensor correct;  // Undefined where there is nothing to judge.
    uint64_t targets = 0;
    double share = 0;
  };
  std::vector<MicroBatch> micro_batches_;
};

// Runs the first samples of `data` in that precision and compares shapes, types and classes.
// Changes nothing.
Status TryOut(Model::State& model, const std::optional<Loss>& loss, const Dataset& data,
              Precision precision = Precision::kFloat32);
// The same of a held-out set, with the network's metrics.
Status TryOutEvaluation(Model::State& model, const std::optional<Loss>& loss, const Dataset& data);

}  // namespace paceline::learn
