// Defines GroupedOptimizer: an optimizer over a slice of a layout that steps each parameter as its
// group says and, if it is a layer-wise one, each tensor by its norms. A step may leave tensors out
// (LeaveOut): the optimizer's steps are then counted for each tensor by itself.
//
// A layer-wise step (LAMB) takes two passes, since the norms are of whole tensors and several
// shards may have parts of one:
//   norms = grouped.Norms(...)              // of each block; everybody's are added by TrustRatios
//   grouped.SetRatios(TrustRatios(all));
//   grouped.StepPart(...), grouped.FinishStep()
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/optim/optimizer.h"
#include "lib/optim/parameter_groups.h"
#include "lib/store/layout.h"

namespace paceline::store {

// Of what a block holds of a tensor, which is named by its place in the layout.
struct TensorNorms {
  uint32_t tensor = 0;
  optim::UpdateNorms norms;
};

struct TrustRatio {
  uint32_t tensor = 0;
  double ratio = 1;  // Times the learning rate.
};

// Steps of the optimizer that have left a tensor out, which is named by its place in the layout.
struct SkippedSteps {
  uint32_t tensor = 0;
  uint64_t steps = 0;  // > 0
  friend bool operator==(const SkippedSteps&, const SkippedSteps&) = default;
};

// One ratio for each tensor that is named, by tensor. Norms are added one by one in the order
// given: in rank order, how tensors are cut over shards changes no bit.
std::vector<TrustRatio> TrustRatios(std::span<const TensorNorms> norms);

// Patterns that fit no parameter of the layout, in order, and none of `own`: what workers have
// beside it.
std::vector<std::string> IdlePatterns(const Layout& layout,
                                      std::span<const optim::ParameterGroup> groups,
                                      std::span<const std::string> own = {});

// One owner at a time.
class GroupedOptimizer {
 public:
  // Of the parameters of `slice`. The errors of optim::Validate and MakeOptimizer.
  static StatusOr<GroupedOptimizer> Create(const optim::OptimizerOptions& options,
                                           std::span<const optim::ParameterGroup> groups,
                                           const Layout& layout, const Slice& slice);

  // Its state and its count of steps; it is stepped and reset through this alone.
  optim::Optimizer& optimizer() { return *optimizer_; }
  bool is_layer_wise() const { return is_layer_wise_; }

  // The step until FinishStep leaves these tensors out, by place in the layout, ascending: their
  // parameters, their state and their count of steps stay. Frozen ones, and those of other slices,
  // are passed over.
  void LeaveOut(std::span<const uint32_t> tensors);
  void FinishStep();
  // As it was made.
  void Reset();
  // Of each tensor that steps have left out, by tensor: optimizer().steps() less these are its own.
  std::vector<SkippedSteps> skipped() const;
  // As a checkpoint has them, by tensor; 0 of a tensor that is not named.
  void Restore(uint64_t steps, std::span<const SkippedSteps> skipped);

  // Of a layer-wise optimizer: appends the norms of each tensor in a part of the slice, floats
  // [begin, begin + current.size()), that lies in one block. What is not stepped has none.
  void Norms(size_t begin, std::span<const float> current, std::span<const float> sum,
             const optim::StepOptions& options, std::vector<TensorNorms>& norms) const;
  // For the parts until the next call; 1 for a tensor that is not named. Nothing if the optimizer
  // is not layer-wise.
  void SetRatios(std::span<const TrustRatio> ratios);
  // As Optimizer::StepPart.
  void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                const optim::StepOptions& options, std::span<float> next);

 private:
  struct Tensor {
    uint32_t index = 0;
    optim::Stretch stretch;  // In floats of the slice, not empty; as its group says.
    uint64_t steps_skipped = 0;
    double ratio = 1;  // Of the step, as this:
    bool is_left_out = false;
  };
  GroupedOptimizer(std::unique_ptr<optim::Optimizer> optimizer, std::vector<Tensor> tensors,
                   bool is_layer_wise);

  // Gives the tensors their stretches.
  void Arrange();

  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<Tensor> tensors_;            // In order.
  std::vector<optim::Stretch> stretches_;  // Of what is not ordinary; one where they are alike.
  bool is_layer_wise_;
  bool leaves_out_ = false;   // The step does.
  bool has_skipped_ = false;  // Some tensor has.
};

}  // namespace paceline::store
