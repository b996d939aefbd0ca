// Defines how a network runs over samples: the thread's settings, batches, loss and outputs, and
// the trial run that finds what does not fit. Private to lib/learn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include "lib/base/status.h"
#include "lib/learn/dataset.h"
#include "lib/learn/loss.h"
#include "lib/learn/model_state.h"

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

struct Batch {
  at::Tensor inputs;
  at::Tensor targets;
};
Batch GatherBatch(const Dataset& data, std::span<const uint32_t> samples, const at::Device& device);

// The loss of a batch, a scalar; `outputs` has none where the network's own method gave it.
struct Computed {
  at::Tensor loss;
  Outputs outputs;
};
// Without `loss` the network's own method counts. Throws where there is `loss` and no outputs.
Computed Compute(Net& net, const std::optional<Loss>& loss, const Batch& batch);

// Runs the first samples of `data` and compares shapes, types and classes. Changes nothing.
Status TryOut(Model::State& model, const std::optional<Loss>& loss, const Dataset& data);
// The same of a held-out set, with the network's metrics.
Status TryOutEvaluation(Model::State& model, const std::optional<Loss>& loss, const Dataset& data);

}  // namespace paceline::learn
