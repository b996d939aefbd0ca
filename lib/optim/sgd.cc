#include "lib/optim/sgd.h"

#include "lib/base/check.h"
#include "lib/optim/kernels.h"

namespace paceline::optim {

Sgd::Sgd(const SgdOptions& options, size_t size)
    : options_(options), size_(size), momentum_buffer_(options.momentum > 0 ? size : 0) {}

void Sgd::StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                   const StepOptions& options, std::span<float> next) {
  PACELINE_CHECK(sum.size() == current.size() && next.size() == current.size(),
                 "got {}, {} and {} elements", current.size(), sum.size(), next.size());
  PACELINE_CHECK(begin <= size_ && current.size() <= size_ - begin, "part [{}, {}) of {}", begin,
                 begin + current.size(), size_);
  SgdScalars scalars;
  scalars.gradient_scale = static_cast<float>(options.gradient_scale);
  scalars.weight_decay = static_cast<float>(options.weight_decay.value_or(options_.weight_decay));
  scalars.learning_rate = static_cast<float>(options.learning_rate);
  if (momentum_buffer_.empty()) {
    SgdKernel(current.data(), sum.data(), current.size(), scalars, next.data());
    return;
  }
  // The first step takes the gradient as the buffer, undampened.
  const bool is_first = StepsOf(options) == 0;
  scalars.momentum = is_first ? 0 : static_cast<float>(options_.momentum);
  scalars.gradient_share = is_first ? 1 : static_cast<float>(1 - options_.dampening);
  scalars.direct_share = options_.is_nesterov ? 1 : 0;
  scalars.buffer_share = options_.is_nesterov ? static_cast<float>(options_.momentum) : 1;
  SgdMomentumKernel(current.data(), sum.data(), current.size(), scalars,
                    momentum_buffer_.data() + begin, next.data());
}

std::vector<Optimizer::StateTensor> Sgd::State() {
  if (options_.momentum == 0) return {};
  return {{"momentum_buffer", momentum_buffer_}};
}

}  // namespace paceline::optim
