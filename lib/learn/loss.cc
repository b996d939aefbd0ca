#include "lib/learn/loss.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>

namespace paceline::learn {
StatusOr<Loss> ParseLoss(std::string_view name) {
  if (name == "CrossEntropy") return Loss::kCrossEntropy;
  if (name == "MeanSquaredError") return Loss::kMeanSquaredError;
  return InvalidArgument("no loss is called \"{}\": want CrossEntropy or MeanSquaredError", name);
}

std::string_view Name(Loss loss) {
  return loss == Loss::kCrossEntropy ? "CrossEntropy" : "MeanSquaredError";
}

ElementType TargetType(Loss loss) {
  return loss == Loss::kCrossEntropy ? ElementType::kInt64 : ElementType::kFloat32;
}

bool AreClasses(const at::Tensor& outputs, const at::Tensor& targets) {
  return targets.scalar_type() == at::kLong && outputs.is_floating_point() &&
         outputs.dim() == targets.dim() + 1 &&
         outputs.sizes().slice(0, targets.dim()) == targets.sizes();
}

at::Tensor ComputeLoss(Loss loss, const at::Tensor& outputs, const at::Tensor& targets) {
  if (loss == Loss::kCrossEntropy) {
    TORCH_CHECK_VALUE(AreClasses(outputs, targets), "outputs of shape ", outputs.sizes(),
                      " do not fit targets of shape ", targets.sizes(),
                      " for loss CrossEntropy: want one more dimension, the classes, at the end");
    if (outputs.dim() == 2) return at::cross_entropy_loss(outputs, targets);
    return at::cross_entropy_loss(outputs.reshape({-1, outputs.size(-1)}), targets.reshape({-1}));
  }
  TORCH_CHECK_VALUE(
      outputs.numel() == targets.numel() && outputs.dim() > 0 && outputs.size(0) == targets.size(0),
      "outputs of shape ", outputs.sizes(), " do not fit targets of shape ", targets.sizes(),
      " for loss MeanSquaredError: want as many elements");
  return at::mse_loss(outputs.reshape(targets.sizes()), targets);
}

at::Tensor CorrectOf(const at::Tensor& outputs, const at::Tensor& targets) {
  if (!outputs.defined() || !AreClasses(outputs, targets)) return {};
  const at::NoGradGuard no_grad;
  return outputs.argmax(-1).eq(targets).sum();
}

Judged CountCorrect(const at::Tensor& outputs, const at::Tensor& targets) {
  const at::Tensor correct = CorrectOf(outputs, targets);
  if (!correct.defined()) return {};
  return {static_cast<uint64_t>(correct.item<int64_t>()), static_cast<uint64_t>(targets.numel())};
}

}  // namespace paceline::learn
