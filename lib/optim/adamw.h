// Defines AdamW, Adam with decoupled weight decay (torch.optim.AdamW; Loshchilov and Hutter 2019,
// algorithm 2).
#pragma once

#include <vector>

#include "lib/optim/optimizer.h"

namespace paceline::optim {

class AdamW : public Optimizer {
 public:
  // `options` are valid.
  AdamW(const AdamWOptions& options, size_t size);

  void StepPart(size_t begin, std::span<const float> current, std::span<const float> sum,
                const StepOptions& options, std::span<float> next) override;
  std::vector<StateTensor> State() override;

 private:
  const AdamWOptions options_;
  std::vector<float> exp_avg_;
  std::vector<float> exp_avg_sq_;
};

}  // namespace paceline::optim
