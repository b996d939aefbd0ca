// Defines Optimizer: one fused pass that turns a gradient sum into the next parameters.
//
// Formulas are PyTorch's (torch.optim.SGD and torch.optim.AdamW, version 2.11 documentation),
// element by element, in float32; scalars that depend on the step alone are computed in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

using OptimizerOptions = std::variant<SgdOptions, AdamWOptions>;

struct StepOptions {
  double gradient_scale = 1;  // Times `sum` is the gradient.
  double learning_rate = 0;   // SGD with a rate of -1 adds the gradient plainly.
};

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
  // the elements [begin, begin + current.size()), each exactly once a step with equal `options`;
  // then FinishStep.
  virtual void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                        const StepOptions& options, std::span<float> next) = 0;
  virtual void FinishStep() = 0;

  // Named state for a checkpoint, each `size` long: "momentum_buffer" (only with momentum), or
  // "exp_avg" and "exp_avg_sq"; and the count of steps made. Mutable, so that a restore writes
  // through them.
  struct StateTensor {
    std::string name;
    std::span<float> values;
  };
  virtual std::vector<StateTensor> State() = 0;
  virtual uint64_t steps() const = 0;
  virtual void set_steps(uint64_t steps) = 0;
};

// OK, or InvalidArgument, naming the option, its value and what is right.
Status Validate(const OptimizerOptions& options);
// The errors of Validate.
StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerOptions& options, size_t size);

}  // namespace paceline::optim
