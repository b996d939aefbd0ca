// Defines Adagrad, which divides by the root of the sum of squared gradients (torch.optim.Adagrad;
// Duchi, Hazan and Singer 2011).
#pragma once

#include <vector>

#include "lib/optim/optimizer.h"

namespace paceline::optim {

class Adagrad : public Optimizer {
 public:
  // `options` are valid.
  Adagrad(const AdagradOptions& options, size_t size);

  void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                const StepOptions& options, std::span<float> next) override;
  std::vector<StateTensor> State() override;
  void Reset() override;

 private:
  const AdagradOptions options_;
  std::vector<float> sum_;  // Of squared gradients.
};

}  // namespace paceline::optim
