// Defines Lion, which steps by the sign of a momentum (Chen et al. 2023, arXiv 2302.06675,
// algorithm 2).
#pragma once

#include <vector>

#include "lib/optim/optimizer.h"

namespace paceline::optim {

class Lion : public Optimizer {
 public:
  // `options` are valid.
  Lion(const LionOptions& options, size_t size);

  void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                const StepOptions& options, std::span<float> next) override;
  std::vector<StateTensor> State() override;

 private:
  const LionOptions options_;
  std::vector<float> exp_avg_;
};

}  // namespace paceline::optim
