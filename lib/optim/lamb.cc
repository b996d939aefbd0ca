#include "lib/optim/lamb.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "lib/base/check.h"

namespace paceline::optim {
namespace {

void CheckPart(size_t begin, size_t count, size_t size) {
  PACELINE_CHECK(begin <= size && count <= size - begin, "part [{}, {}) of {}", begin,
                 begin + count, size);
}

}  // namespace

Lamb::Lamb(const LambOptions& options, size_t size)
    : options_(options), exp_avg_(size), exp_avg_sq_(size) {}

LambScalars Lamb::ScalarsOf(const StepOptions& options) const {
  const double step = static_cast<double>(StepsOf(options) + 1);
  LambScalars scalars;
  scalars.gradient_scale = static_cast<float>(options.gradient_scale);
  scalars.weight_decay = static_cast<float>(options.weight_decay.value_or(options_.weight_decay));
  scalars.beta1 = static_cast<float>(options_.beta1);
  scalars.first_weight = static_cast<float>(1 - options_.beta1);
  scalars.beta2 = static_cast<float>(options_.beta2);
  scalars.second_weight = static_cast<float>(1 - options_.beta2);
  scalars.first_correction = static_cast<float>(1 / (1 - std::pow(options_.beta1, step)));
  scalars.second_correction_root =
      static_cast<float>(std::sqrt(1 - std::pow(options_.beta2, step)));
  scalars.epsilon = static_cast<float>(options_.epsilon);
  scalars.learning_rate = static_cast<float>(options.learning_rate);
  return scalars;
}

void Lamb::StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                    const StepOptions& options, std::span<float> next) {
  PACELINE_CHECK(sum.size() == current.size() && next.size() == current.size(),
                 "got {}, {} and {} elements", current.size(), sum.size(), next.size());
  CheckPart(begin, current.size(), exp_avg_.size());
  LambKernel(current.data(), sum.data(), current.size(), ScalarsOf(options),
             exp_avg_.data() + begin, exp_avg_sq_.data() + begin, next.data());
}

UpdateNorms Lamb::NormsOfPart(size_t begin, std::span<const float> current,
                              std::span<const float> sum, const StepOptions& options) const {
  PACELINE_CHECK(sum.size() == current.size(), "got {} and {} elements", current.size(),
                 sum.size());
  CheckPart(begin, current.size(), exp_avg_.size());
  const LambScalars scalars = ScalarsOf(options);
  // In small parts: the updates are kept nowhere.
  constexpr size_t kPart = 512;
  static_assert(kPart % kSquareSums == 0);
  float updates[kPart];
  double weight_sums[kSquareSums] = {}, update_sums[kSquareSums] = {};
  for (size_t from = 0; from < current.size(); from += kPart) {
    const size_t count = std::min(kPart, current.size() - from);
    LambUpdateKernel(current.data() + from, sum.data() + from, count, scalars,
                     exp_avg_.data() + begin + from, exp_avg_sq_.data() + begin + from, updates);
    AddSquares(current.data() + from, count, weight_sums);
    AddSquares(updates, count, update_sums);
  }
  return {std::accumulate(std::begin(weight_sums), std::end(weight_sums), 0.0),
          std::accumulate(std::begin(update_sums), std::end(update_sums), 0.0)};
}

std::vector<Optimizer::StateTensor> Lamb::State() {
  return {{"exp_avg", exp_avg_}, {"exp_avg_sq", exp_avg_sq_}};
}

}  // namespace paceline::optim
