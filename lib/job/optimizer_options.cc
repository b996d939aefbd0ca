#include "lib/job/optimizer_options.h"

namespace paceline::job {

optim::OptimizerOptions OptimizerOptionsFrom(const TrainingJob& job) {
  const Optimizer& optimizer = job.spec.training.optimizer;
  switch (optimizer.type) {
    case OptimizerType::kSgd:
      break;
    case OptimizerType::kAdamW:
      return optim::AdamWOptions{.beta1 = optimizer.adam_w.beta1,
                                 .beta2 = optimizer.adam_w.beta2,
                                 .epsilon = optimizer.adam_w.epsilon,
                                 .weight_decay = optimizer.adam_w.weight_decay};
    case OptimizerType::kAdagrad:
      return optim::AdagradOptions{.learning_rate_decay = optimizer.adagrad.learning_rate_decay,
                                   .initial_accumulator = optimizer.adagrad.initial_accumulator,
                                   .epsilon = optimizer.adagrad.epsilon,
                                   .weight_decay = optimizer.adagrad.weight_decay};
    case OptimizerType::kLion:
      return optim::LionOptions{.beta1 = optimizer.lion.beta1,
                                .beta2 = optimizer.lion.beta2,
                                .weight_decay = optimizer.lion.weight_decay};
    case OptimizerType::kLamb:
      return optim::LambOptions{.beta1 = optimizer.lamb.beta1,
                                .beta2 = optimizer.lamb.beta2,
                                .epsilon = optimizer.lamb.epsilon,
                                .weight_decay = optimizer.lamb.weight_decay};
  }
  return optim::SgdOptions{.momentum = optimizer.sgd.momentum,
                           .dampening = optimizer.sgd.dampening,
                           .weight_decay = optimizer.sgd.weight_decay,
                           .is_nesterov = optimizer.sgd.nesterov};
}

std::vector<optim::ParameterGroup> ParameterGroupsFrom(const TrainingJob& job) {
  std::vector<optim::ParameterGroup> groups;
  for (const ParameterGroup& group : job.spec.training.parameter_groups) {
    groups.push_back({.match = group.match,
                      .weight_decay = group.weight_decay,
                      .rate_scale = group.learning_rate_scale,
                      .is_frozen = group.frozen});
  }
  return groups;
}

}  // namespace paceline::job
