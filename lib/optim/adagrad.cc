#include "lib/optim/adagrad.h"

#include <algorithm>

#include "lib/base/check.h"
#include "lib/optim/kernels.h"

namespace paceline::optim {

Adagrad::Adagrad(const AdagradOptions& options, size_t size)
    : options_(options), sum_(size, static_cast<float>(options.initial_accumulator)) {}

void Adagrad::StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                       const StepOptions& options, std::span<float> next) {
  PACELINE_CHECK(sum.size() == current.size() && next.size() == current.size(),
                 "got {}, {} and {} elements", current.size(), sum.size(), next.size());
  PACELINE_CHECK(begin <= sum_.size() && current.size() <= sum_.size() - begin,
                 "part [{}, {}) of {}", begin, begin + current.size(), sum_.size());
  AdagradScalars scalars;
  scalars.gradient_scale = static_cast<float>(options.gradient_scale);
  scalars.weight_decay = static_cast<float>(options.weight_decay.value_or(options_.weight_decay));
  scalars.learning_rate =
      static_cast<float>(options.learning_rate / (1 + static_cast<double>(StepsOf(options)) *
                                                          options_.learning_rate_decay));
  scalars.epsilon = static_cast<float>(options_.epsilon);
  AdagradKernel(current.data(), sum.data(), current.size(), scalars, sum_.data() + begin,
                next.data());
}

std::vector<Optimizer::StateTensor> Adagrad::State() { return {{"sum", sum_}}; }

void Adagrad::Reset() {
  std::ranges::fill(sum_, static_cast<float>(options_.initial_accumulator));
  set_steps(0);
}

}  // namespace paceline::optim
