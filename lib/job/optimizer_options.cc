#include "lib/job/optimizer_options.h"

namespace paceline::job {

optim::OptimizerOptions OptimizerOptionsFrom(const TrainingJob& job) {
  const Optimizer& optimizer = job.spec.training.optimizer;
  if (optimizer.type == OptimizerType::kAdamW) {
    return optim::AdamWOptions{.beta1 = optimizer.adam_w.beta1,
                               .beta2 = optimizer.adam_w.beta2,
                               .epsilon = optimizer.adam_w.epsilon,
                               .weight_decay = optimizer.adam_w.weight_decay};
  }
  return optim::SgdOptions{.momentum = optimizer.sgd.momentum,
                           .dampening = optimizer.sgd.dampening,
                           .weight_decay = optimizer.sgd.weight_decay,
                           .is_nesterov = optimizer.sgd.nesterov};
}

}  // namespace paceline::job
