#include "lib/optim/lion.h"

#include "lib/base/check.h"
#include "lib/optim/kernels.h"

namespace paceline::optim {

Lion::Lion(const LionOptions& options, size_t size) : options_(options), exp_avg_(size) {}

void Lion::StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                    const StepOptions& options, std::span<float> next) {
  PACELINE_CHECK(sum.size() == current.size() && next.size() == current.size(),
                 "got {}, {} and {} elements", current.size(), sum.size(), next.size());
  PACELINE_CHECK(begin <= exp_avg_.size() && current.size() <= exp_avg_.size() - begin,
                 "part [{}, {}) of {}", begin, begin + current.size(), exp_avg_.size());
  LionScalars scalars;
  scalars.gradient_scale = static_cast<float>(options.gradient_scale);
  scalars.shrink = static_cast<float>(1 - options.learning_rate *
                                              options.weight_decay.value_or(options_.weight_decay));
  scalars.learning_rate = static_cast<float>(options.learning_rate);
  scalars.beta1 = static_cast<float>(options_.beta1);
  scalars.first_weight = static_cast<float>(1 - options_.beta1);
  scalars.beta2 = static_cast<float>(options_.beta2);
  scalars.second_weight = static_cast<float>(1 - options_.beta2);
  LionKernel(current.data(), sum.data(), current.size(), scalars, exp_avg_.data() + begin,
             next.data());
}

std::vector<Optimizer::StateTensor> Lion::State() { return {{"exp_avg", exp_avg_}}; }

}  // namespace paceline::optim
