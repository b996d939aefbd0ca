#include "lib/optim/adamw.h"

#include <cmath>

#include "lib/base/check.h"
#include "lib/optim/kernels.h"

namespace paceline::optim {

AdamW::AdamW(const AdamWOptions& options, size_t size)
    : options_(options), exp_avg_(size), exp_avg_sq_(size) {}

void AdamW::StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                     const StepOptions& options, std::span<float> next) {
  PACELINE_CHECK(sum.size() == current.size() && next.size() == current.size(),
                 "got {}, {} and {} elements", current.size(), sum.size(), next.size());
  PACELINE_CHECK(begin <= exp_avg_.size() && current.size() <= exp_avg_.size() - begin,
                 "part [{}, {}) of {}", begin, begin + current.size(), exp_avg_.size());
  const double step = static_cast<double>(StepsOf(options) + 1);
  AdamWScalars scalars;
  scalars.gradient_scale = static_cast<float>(options.gradient_scale);
  scalars.shrink = static_cast<float>(1 - options.learning_rate *
                                              options.weight_decay.value_or(options_.weight_decay));
  scalars.first_weight = static_cast<float>(1 - options_.beta1);
  scalars.beta2 = static_cast<float>(options_.beta2);
  scalars.second_weight = static_cast<float>(1 - options_.beta2);
  scalars.second_correction_root =
      static_cast<float>(std::sqrt(1 - std::pow(options_.beta2, step)));
  scalars.epsilon = static_cast<float>(options_.epsilon);
  scalars.step_size =
      static_cast<float>(options.learning_rate / (1 - std::pow(options_.beta1, step)));
  AdamWKernel(current.data(), sum.data(), current.size(), scalars, exp_avg_.data() + begin,
              exp_avg_sq_.data() + begin, next.data());
}

std::vector<Optimizer::StateTensor> AdamW::State() {
  return {{"exp_avg", exp_avg_}, {"exp_avg_sq", exp_avg_sq_}};
}

}  // namespace paceline::optim
