#include "lib/worker/pacings/local_steps.h"

#include <algorithm>
#include <utility>

#include "lib/optim/clip.h"
#include "lib/store/kernels.h"
#include "lib/worker/pacings/floats.h"

namespace paceline::worker {

StatusOr<LocalSteps> LocalSteps::Create(const LocalOptions& options, const store::Layout& layout) {
  PACELINE_ASSIGN_OR_RETURN(
      store::GroupedOptimizer optimizer,
      store::GroupedOptimizer::Create(options.optimizer, options.parameter_groups, layout,
                                      {0, layout.total_bytes()}));
  return LocalSteps(options, layout, std::move(optimizer));
}

LocalSteps::LocalSteps(const LocalOptions& options, const store::Layout& layout,
                       store::GroupedOptimizer optimizer)
    : gradient_clip_norm_(options.gradient_clip_norm),
      parameter_bytes_(layout.parameter_bytes()),
      optimizer_(std::move(optimizer)),
      snapshot_(parameter_bytes_ / sizeof(float)) {}

void LocalSteps::Begin(std::span<const std::byte> values) {
  std::ranges::copy(Floats(values, parameter_bytes_), snapshot_.begin());
}

void LocalSteps::Step(std::span<const std::byte> gradient, double learning_rate,
                      std::span<std::byte> values, std::span<const uint32_t> without_gradient) {
  const std::span<const float> sum = Floats(gradient, parameter_bytes_);
  const std::span<float> parameters = Floats(values, parameter_bytes_);
  optim::StepOptions step{.learning_rate = learning_rate};
  if (gradient_clip_norm_)
    step.gradient_scale = optim::ClipScale(store::SquaredNorm(sum), *gradient_clip_norm_);
  optimizer_.LeaveOut(without_gradient);
  if (optimizer_.is_layer_wise()) SetRatios(parameters, sum, step);
  optimizer_.StepPart(0, parameters, sum, step, parameters);
  optimizer_.FinishStep();
}

void LocalSteps::SetRatios(std::span<const float> parameters, std::span<const float> sum,
                           const optim::StepOptions& step) {
  constexpr size_t kBlock = store::kBlockBytes / sizeof(float);
  std::vector<store::TensorNorms> norms;
  for (size_t begin = 0; begin < parameters.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, parameters.size() - begin);
    optimizer_.Norms(begin, parameters.subspan(begin, size), sum.subspan(begin, size), step, norms);
  }
  optimizer_.SetRatios(store::TrustRatios(norms));
}

void LocalSteps::Cut(std::span<const std::byte> values, std::span<std::byte> push) {
  const std::span<const float> parameters = Floats(values, parameter_bytes_);
  const std::span<float> delta = Floats(push, parameter_bytes_);
  for (size_t i = 0; i < snapshot_.size(); ++i) {
    delta[i] = parameters[i] - snapshot_[i];
    snapshot_[i] = parameters[i];
  }
  std::copy(values.begin() + parameter_bytes_, values.end(), push.begin() + parameter_bytes_);
}

void LocalSteps::Rebase(std::span<const std::byte> version, std::span<std::byte> values) {
  const std::span<const float> newest = Floats(version, parameter_bytes_);
  const std::span<float> parameters = Floats(values, parameter_bytes_);
  for (size_t i = 0; i < snapshot_.size(); ++i) {
    parameters[i] = newest[i] + (parameters[i] - snapshot_[i]);
    snapshot_[i] = newest[i];
  }
  std::copy(version.begin() + parameter_bytes_, version.end(), values.begin() + parameter_bytes_);
}

void LocalSteps::Forget() { optimizer_.Reset(); }

}  // namespace paceline::worker
