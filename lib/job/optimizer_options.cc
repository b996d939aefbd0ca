#include "lib/job/optimizer_options.h"

namespace paceline::job {
namespace {

optim::ScheduleKind ScheduleKindFrom(Schedule schedule) {
  switch (schedule) {
    case Schedule::kConstant:
      return optim::ScheduleKind::kConstant;
    case Schedule::kCosine:
      return optim::ScheduleKind::kCosine;
    case Schedule::kStep:
      return optim::ScheduleKind::kStep;
    case Schedule::kLinear:
      return optim::ScheduleKind::kLinear;
    case Schedule::kPolynomial:
      return optim::ScheduleKind::kPolynomial;
    case Schedule::kWsd:
      return optim::ScheduleKind::kStableDecay;
    case Schedule::kOneCycle:
      return optim::ScheduleKind::kOneCycle;
    case Schedule::kCosineRestarts:
      return optim::ScheduleKind::kCosineRestarts;
    case Schedule::kReduceOnPlateau:
      return optim::ScheduleKind::kConstant;
  }
  return optim::ScheduleKind::kConstant;
}

}  // namespace

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

optim::ScheduleOptions ScheduleOptionsFrom(const Training& training) {
  const LearningRate& rate = training.learning_rate;
  optim::ScheduleOptions schedule;
  schedule.base = rate.base;
  schedule.warmup_steps = static_cast<uint64_t>(rate.warmup_steps);
  schedule.global_batch = static_cast<uint64_t>(training.global_batch_size);
  schedule.kind = ScheduleKindFrom(rate.schedule);
  schedule.step_factor = rate.factor;
  schedule.power = rate.polynomial.power;
  schedule.decay_share = rate.wsd.decay_share;
  schedule.peak_share = rate.one_cycle.peak_share;
  schedule.start_divisor = rate.one_cycle.start_divisor;
  schedule.end_divisor = rate.one_cycle.final_divisor;
  schedule.period_factor = static_cast<uint64_t>(rate.cosine_restarts.period_factor);
  schedule.final_factor = rate.base > 0 ? rate.final / rate.base : 0;
  return schedule;
}

}  // namespace paceline::job
