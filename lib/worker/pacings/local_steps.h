// Defines LocalSteps: a worker's own optimizer over its copy of the parameters, and what of that
// copy is not pushed yet.
//
// Values, gradients, versions and pushes are arranged as the job's layout. The snapshot is the copy
// as it was pushed last: what is not pushed is the difference to it. Buffers (BatchNorm statistics)
// are pushed as they are, and taken over from a version as they are.
//
// Example, of a worker that overwrites its copy with every version:
//   local.Begin(values);                        // Just pulled.
//   local.Step(gradient, rate, values);
//   local.Cut(values, push);                    // Push it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/optim/optimizer.h"
#include "lib/optim/parameter_groups.h"
#include "lib/store/grouped_optimizer.h"
#include "lib/store/layout.h"

namespace paceline::worker {

struct LocalOptions {
  optim::OptimizerOptions optimizer;
  std::vector<optim::ParameterGroup> parameter_groups = {};
  std::optional<double> gradient_clip_norm = std::nullopt;  // Of each local step's gradient.
};

// Memory: a copy of the parameters, and the optimizer's state. One owner at a time; may move
// between threads from call to call.
class LocalSteps {
 public:
  // The errors of optim::MakeOptimizer.
  static StatusOr<LocalSteps> Create(const LocalOptions& options, const store::Layout& layout);

  // `values` are a version: nothing is unpushed.
  void Begin(std::span<const std::byte> values);
  // One step of the optimizer on the parameters of `values`, but for those `without_gradient`
  // (GroupedOptimizer::LeaveOut), whose delta stays what it is.
  void Step(std::span<const std::byte> gradient, double learning_rate, std::span<std::byte> values,
            std::span<const uint32_t> without_gradient = {});
  // Writes what is not pushed yet, and the buffers, to `push`; from now on it is pushed.
  void Cut(std::span<const std::byte> values, std::span<std::byte> push);
  // Puts what is not pushed on top of `version`, into `values`.
  void Rebase(std::span<const std::byte> version, std::span<std::byte> values);
  // The optimizer begins anew.
  void Forget();

 private:
  // The ratios of a layer-wise optimizer, from norms in blocks as shards have them.
  void SetRatios(std::span<const float> parameters, std::span<const float> sum,
                 const optim::StepOptions& step);
  LocalSteps(const LocalOptions& options, const store::Layout& layout,
             store::GroupedOptimizer optimizer);

  std::optional<double> gradient_clip_norm_;
  size_t parameter_bytes_;
  store::GroupedOptimizer optimizer_;
  std::vector<float> snapshot_;
};

}  // namespace paceline::worker
