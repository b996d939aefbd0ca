// Defines the named losses.
#pragma once

#include <string_view>

#include "lib/base/status.h"
#include "lib/learn/data/columns.h"

namespace at {
class Tensor;
}

namespace paceline::learn {

enum class Loss {
  kCrossEntropy,  // Outputs [N, C] with int64 targets [N], or [N, ..., C] with [N, ...]: classes
                  // come last.
  kMeanSquaredError,  // Outputs and float32 targets of as many elements; the mean over all.
};

// "CrossEntropy", "MeanSquaredError"; InvalidArgument for anything else.
StatusOr<Loss> ParseLoss(std::string_view name);
std::string_view Name(Loss loss);
ElementType TargetType(Loss loss);

// Whether the outputs are scores of classes, which come last, for each of the targets.
bool AreClasses(const at::Tensor& outputs, const at::Tensor& targets);

// The mean over the samples, a scalar. Throws InvalidArgument's counterpart of LibTorch, naming
// both shapes, where outputs and targets do not fit.
at::Tensor ComputeLoss(Loss loss, const at::Tensor& outputs, const at::Tensor& targets);

// How many targets the outputs say the right class of, a scalar on their device; undefined where
// none can be judged, as below.
at::Tensor CorrectOf(const at::Tensor& outputs, const at::Tensor& targets);

// Of how many targets the outputs say the right class. None is judged where there are no outputs or
// the targets are not classes of theirs.
struct Judged {
  uint64_t correct = 0;
  uint64_t judged = 0;
};
Judged CountCorrect(const at::Tensor& outputs, const at::Tensor& targets);

}  // namespace paceline::learn
