// Defines Lamb, Adam whose step is as long for each tensor as the tensor itself, times the rate
// (You et al. 2020, arXiv 1904.00962, algorithm 2, with the norms themselves for phi).
//
// The trust ratio is its user's: times the learning rate of a tensor's stretch.
#pragma once

#include <vector>

#include "lib/optim/kernels.h"
#include "lib/optim/optimizer.h"

namespace paceline::optim {

class Lamb : public Optimizer {
 public:
  // `options` are valid.
  Lamb(const LambOptions& options, size_t size);

  void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                const StepOptions& options, std::span<float> next) override;
  UpdateNorms NormsOfPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                          const StepOptions& options) const override;
  std::vector<StateTensor> State() override;

 private:
  LambScalars ScalarsOf(const StepOptions& options) const;

  const LambOptions options_;
  std::vector<float> exp_avg_;
  std::vector<float> exp_avg_sq_;
};

}  // namespace paceline::optim
