// Defines Sgd, stochastic gradient descent with momentum (torch.optim.SGD).
#pragma once

#include <vector>

#include "lib/optim/optimizer.h"

namespace paceline::optim {

class Sgd : public Optimizer {
 public:
  // `options` are valid.
  Sgd(const SgdOptions& options, size_t size);

  void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                const StepOptions& options, std::span<float> next) override;
  std::vector<StateTensor> State() override;

 private:
  const SgdOptions options_;
  const size_t size_;
  std::vector<float> momentum_buffer_;  // Empty without momentum.
};

}  // namespace paceline::optim
