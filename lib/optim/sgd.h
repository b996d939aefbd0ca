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
  void FinishStep() override { ++steps_; }
  std::vector<StateTensor> State() override;
  uint64_t steps() const override { return steps_; }
  void set_steps(uint64_t steps) override { steps_ = steps; }

 private:
  const SgdOptions options_;
  const size_t size_;
  std::vector<float> momentum_buffer_;  // Empty without momentum.
  uint64_t steps_ = 0;
};

}  // namespace paceline::optim
