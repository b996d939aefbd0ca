// Defines Optimizer: one fused pass that turns a gradient sum into the next parameters.
//
// Formulas are PyTorch's (torch.optim.SGD, AdamW and Adagrad, version 2.11 documentation) and, of
// Lion and LAMB, their papers', element by element, in float32; scalars that depend on the step
// alone are computed in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/status.h"

namespace paceline::optim {

struct SgdOptions {
  double momentum = 0;       // [0, 1)
  double dampening = 0;      // [0, 1]
  double weight_decay = 0;   // L2, added to the gradient.
  bool is_nesterov = false;  // Needs momentum > 0 and dampening = 0.
};

struct AdamWOptions {
  double beta1 = 0.9;          // [0, 1)
  double beta2 = 0.999;        // [0, 1)
  double epsilon = 1e-8;       // > 0
  double weight_decay = 0.01;  // Decoupled: parameters shrink by learning rate x this.
};

struct AdagradOptions {
  double learning_rate_decay = 0;  // >= 0; step n, from 0, has the rate / (1 + n x this).
  double initial_accumulator = 0;  // >= 0
  double epsilon = 1e-10;          // > 0
  double weight_decay = 0;         // L2, added to the gradient.
};

struct LionOptions {
  double beta1 = 0.9;       // [0, 1); share of the momentum in the update.
  double beta2 = 0.99;      // [0, 1); of the momentum in the next one.
  double weight_decay = 0;  // Decoupled: parameters shrink by learning rate x this.
};

struct LambOptions {
  double beta1 = 0.9;          // [0, 1)
  double beta2 = 0.999;        // [0, 1)
  double epsilon = 1e-6;       // > 0
  double weight_decay = 0.01;  // Part of the update whose norm counts.
};

using OptimizerOptions =
    std::variant<SgdOptions, AdamWOptions, AdagradOptions, LionOptions, LambOptions>;

// Whether its rate is another one for each tensor, by norms of the whole tensor: LAMB.
bool IsLayerWise(const OptimizerOptions& options);

struct StepOptions {
  double gradient_scale = 1;  // Times `sum` is the gradient.
  double learning_rate = 0;   // SGD with a rate of -1 adds the gradient plainly.
  std::optional<double> weight_decay = std::nullopt;  // Instead of the optimizer's.
  uint64_t steps_skipped = 0;  // Of the finished steps, those that have left these elements out.
};

// Squared norms of a tensor, or of a part of one.
struct UpdateNorms {
  double weights = 0;
  double update = 0;  // Of what the learning rate would be multiplied with.
};

// Times the learning rate is that of a layer-wise optimizer for the tensor: the ratio of the two
// norms, 1 where one of them is 0.
double TrustRatio(const UpdateNorms& norms);

// Owns the state (momentum, moments) for `size` elements. One owner at a time.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // next = current after one step with gradient_scale x sum. All three spans have `size` elements;
  // `next` may be `current`, and overlaps nothing else.
  void Step(std::span<const float> current, std::span<const float> sum, const StepOptions& options,
            std::span<float> next) {
    StepPart(0, current, sum, options, next);
    FinishStep();
  }

  // The same step in parts, so that a caller can do more with each part while it is in the cache:
  // the elements [begin, begin + current.size()), each exactly once a step, or not at all: what a
  // step leaves out keeps its state, and counts the step as skipped from then on. Then FinishStep.
  // `options` may differ from part to part.
  virtual void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                        const StepOptions& options, std::span<float> next) = 0;
  void FinishStep() { ++steps_; }

  // Of a layer-wise optimizer: the norms of that part in the step that `options` describe, of which
  // the rate does not count. Changes nothing. Zeros of all others.
  virtual UpdateNorms NormsOfPart(size_t begin, std::span<const float> current,
                                  std::span<const float> sum, const StepOptions& options) const;

  // Named state for a checkpoint, each `size` long: "momentum_buffer" (only with momentum),
  // "exp_avg" and "exp_avg_sq" (AdamW, LAMB), "sum" (Adagrad) or "exp_avg" (Lion); and the count of
  // steps made. Mutable, so that a restore writes through them.
  struct StateTensor {
    std::string name;
    std::span<float> values;
  };
  virtual std::vector<StateTensor> State() = 0;
  uint64_t steps() const { return steps_; }
  void set_steps(uint64_t steps) { steps_ = steps; }
  // As it was made.
  virtual void Reset();

 protected:
  // Finished steps of the elements that `options` are for.
  uint64_t StepsOf(const StepOptions& options) const { return steps_ - options.steps_skipped; }

 private:
  uint64_t steps_ = 0;  // Finished.
};

// OK, or InvalidArgument, naming the option, its value and what is right.
Status Validate(const OptimizerOptions& options);
// The errors of Validate.
StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerOptions& options, size_t size);

}  // namespace paceline::optim
