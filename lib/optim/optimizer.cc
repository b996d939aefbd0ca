#include "lib/optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "lib/optim/adagrad.h"
#include "lib/optim/adamw.h"
#include "lib/optim/lamb.h"
#include "lib/optim/lion.h"
#include "lib/optim/sgd.h"

namespace paceline::optim {
namespace {

// [0, 1)
Status CheckFraction(const char* name, double value) {
  if (value >= 0 && value < 1) return OkStatus();
  return InvalidArgument("{} must be at least 0 and below 1: got {}", name, value);
}

Status CheckNotNegative(const char* name, double value) {
  if (value >= 0 && std::isfinite(value)) return OkStatus();
  return InvalidArgument("{} must be finite and at least 0: got {}", name, value);
}

Status CheckWeightDecay(double value) { return CheckNotNegative("weight decay", value); }

Status ValidateOptions(const SgdOptions& options) {
  PACELINE_RETURN_IF_ERROR(CheckFraction("momentum", options.momentum));
  if (!(options.dampening >= 0 && options.dampening <= 1)) {
    return InvalidArgument("dampening must be between 0 and 1: got {}", options.dampening);
  }
  PACELINE_RETURN_IF_ERROR(CheckWeightDecay(options.weight_decay));
  if (options.is_nesterov && (options.momentum <= 0 || options.dampening != 0)) {
    return InvalidArgument(
        "nesterov needs momentum above 0 and dampening 0: got momentum {}, dampening {}",
        options.momentum, options.dampening);
  }
  return OkStatus();
}

Status CheckEpsilon(double value) {
  if (static_cast<float>(value) > 0 && std::isfinite(value)) return OkStatus();
  return InvalidArgument("epsilon must be a positive float32: got {}", value);
}

Status ValidateOptions(const AdamWOptions& options) {
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta1", options.beta1));
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta2", options.beta2));
  PACELINE_RETURN_IF_ERROR(CheckEpsilon(options.epsilon));
  return CheckWeightDecay(options.weight_decay);
}

Status ValidateOptions(const AdagradOptions& options) {
  PACELINE_RETURN_IF_ERROR(CheckNotNegative("learning rate decay", options.learning_rate_decay));
  PACELINE_RETURN_IF_ERROR(CheckNotNegative("initial accumulator", options.initial_accumulator));
  PACELINE_RETURN_IF_ERROR(CheckEpsilon(options.epsilon));
  return CheckWeightDecay(options.weight_decay);
}

Status ValidateOptions(const LionOptions& options) {
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta1", options.beta1));
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta2", options.beta2));
  return CheckWeightDecay(options.weight_decay);
}

Status ValidateOptions(const LambOptions& options) {
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta1", options.beta1));
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta2", options.beta2));
  PACELINE_RETURN_IF_ERROR(CheckEpsilon(options.epsilon));
  return CheckWeightDecay(options.weight_decay);
}

std::unique_ptr<Optimizer> Make(const SgdOptions& options, size_t size) {
  return std::make_unique<Sgd>(options, size);
}
std::unique_ptr<Optimizer> Make(const AdamWOptions& options, size_t size) {
  return std::make_unique<AdamW>(options, size);
}
std::unique_ptr<Optimizer> Make(const AdagradOptions& options, size_t size) {
  return std::make_unique<Adagrad>(options, size);
}
std::unique_ptr<Optimizer> Make(const LionOptions& options, size_t size) {
  return std::make_unique<Lion>(options, size);
}
std::unique_ptr<Optimizer> Make(const LambOptions& options, size_t size) {
  return std::make_unique<Lamb>(options, size);
}

}  // namespace

Status Validate(const OptimizerOptions& options) {
  return std::visit([](const auto& chosen) { return ValidateOptions(chosen); }, options);
}

StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerOptions& options, size_t size) {
  PACELINE_RETURN_IF_ERROR(Validate(options));
  return std::visit([size](const auto& chosen) { return Make(chosen, size); }, options);
}

bool IsLayerWise(const OptimizerOptions& options) {
  return std::holds_alternative<LambOptions>(options);
}

double TrustRatio(const UpdateNorms& norms) {
  if (!(norms.weights > 0) || !(norms.update > 0)) return 1;
  return std::sqrt(norms.weights) / std::sqrt(norms.update);
}

UpdateNorms Optimizer::NormsOfPart(size_t, std::span<const float>, std::span<const float>,
                                   const StepOptions&) const {
  return {};
}

void Optimizer::Reset() {
  for (const StateTensor& tensor : State()) std::ranges::fill(tensor.values, 0.0f);
  set_steps(0);
}

}  // namespace paceline::optim
