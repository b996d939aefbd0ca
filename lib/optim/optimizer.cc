#include "lib/optim/optimizer.h"

#include <cmath>

#include "lib/optim/adamw.h"
#include "lib/optim/sgd.h"

namespace paceline::optim {
namespace {

// [0, 1)
Status CheckFraction(const char* name, double value) {
  if (value >= 0 && value < 1) return OkStatus();
  return InvalidArgument("{} must be at least 0 and below 1: got {}", name, value);
}

Status CheckWeightDecay(double value) {
  if (value >= 0 && std::isfinite(value)) return OkStatus();
  return InvalidArgument("weight decay must be finite and at least 0: got {}", value);
}

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

Status ValidateOptions(const AdamWOptions& options) {
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta1", options.beta1));
  PACELINE_RETURN_IF_ERROR(CheckFraction("beta2", options.beta2));
  if (!(static_cast<float>(options.epsilon) > 0 && std::isfinite(options.epsilon))) {
    return InvalidArgument("epsilon must be a positive float32: got {}", options.epsilon);
  }
  return CheckWeightDecay(options.weight_decay);
}

}  // namespace

Status Validate(const OptimizerOptions& options) {
  return std::visit([](const auto& chosen) { return ValidateOptions(chosen); }, options);
}

StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerOptions& options, size_t size) {
  PACELINE_RETURN_IF_ERROR(Validate(options));
  if (const auto* adamw = std::get_if<AdamWOptions>(&options))
    return std::make_unique<AdamW>(*adamw, size);
  return std::make_unique<Sgd>(std::get<SgdOptions>(options), size);
}

}  // namespace paceline::optim
