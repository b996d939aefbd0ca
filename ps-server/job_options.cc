#include "ps-server/job_options.h"

#include <algorithm>

#include "lib/job/manifest/enums.h"
#include "lib/job/manifest/values/metric.h"
#include "lib/job/optimizer_options.h"
#include "lib/job/wire_types.h"
#include "lib/job/worker_groups.h"
#include "ps-server/service/grpc_server.h"

namespace paceline::ps {
namespace {

// Replicas, and their bound, may be raised while the job runs; a seat that nobody takes costs
// nothing.
constexpr int64_t kWorkersMax = 1024;

coordination::NonFiniteOptions NonFiniteOptionsFrom(const job::NonFinite& from) {
  coordination::NonFiniteOptions options;
  if (from.action == job::NonFiniteAction::kFail)
    options.action = coordination::NonFiniteAction::kFail;
  options.learning_rate_factor = from.learning_rate_factor;
  options.limit = static_cast<uint32_t>(from.limit);
  return options;
}

coordination::Measure MeasureFrom(const std::string& metric,
                                  const std::optional<job::Better>& better) {
  return {metric, job::BetterOf(metric, better) == job::Better::kHigher};
}

coordination::JudgingOptions JudgingFrom(const job::JobSpec& spec) {
  coordination::JudgingOptions options;
  if (!spec.evaluator) return options;
  options.measure = MeasureFrom(spec.evaluator->metric, spec.evaluator->better);
  options.least_gain = spec.evaluator->min_delta;
  options.patience = static_cast<uint32_t>(spec.training.stop.patience.value_or(0));
  const job::LearningRate& rate = spec.training.learning_rate;
  if (rate.schedule == job::Schedule::kReduceOnPlateau) {
    options.plateau = {.factor = rate.plateau.factor,
                       .patience = static_cast<uint32_t>(rate.plateau.patience),
                       .rate_min = rate.final};
  }
  options.keeps_best = spec.output.keep == job::KeptModel::kBest;
  return options;
}

coordination::HangOptions HangOptionsFrom(const job::StragglerPolicy& from) {
  coordination::HangOptions options;
  options.factor = from.hang_factor;
  options.first_step = Seconds(from.first_step_seconds);
  options.in_script = Seconds(from.user_code_seconds);
  return options;
}

}  // namespace

coordination::CoordinatorOptions CoordinatorOptionsFrom(const job::TrainingJob& job,
                                                        uint64_t generation_start) {
  const job::JobSpec& spec = job.spec;
  coordination::CoordinatorOptions options;
  options.generation = {generation_start, 0};
  options.shards = static_cast<uint32_t>(spec.parameter_server.shards);
  options.workers_wanted = static_cast<uint32_t>(job::ReplicasOf(spec.workers));
  options.workers_min = static_cast<uint32_t>(job::NeededOf(spec.workers));
  options.workers_max = static_cast<uint32_t>(std::max(job::MostOf(spec.workers), kWorkersMax));
  options.groups = GroupsFrom(spec.workers);
  options.wire_types = job::WireTypesOf(spec.network);
  options.schedule_timeout =
      std::chrono::seconds(spec.run_policy.scheduling_policy.schedule_timeout_seconds);
  options.is_deterministic = spec.training.deterministic;
  options.on_drop = spec.data.on_drop == job::OnDrop::kReturn ? coordination::OnDrop::kReturn
                                                              : coordination::OnDrop::kDiscard;
  options.global_batch_size = static_cast<uint32_t>(spec.training.global_batch_size);
  options.epochs_max = static_cast<uint64_t>(spec.training.stop.max_epochs.value_or(0));
  options.steps_max = static_cast<uint64_t>(spec.training.stop.max_steps.value_or(0));
  if (const auto& target = spec.training.stop.target) {
    options.target =
        coordination::Target{MeasureFrom(target->metric, target->better), target->value};
  }
  options.has_evaluator = spec.evaluator.has_value();
  if (spec.evaluator) options.evaluation_period = Seconds(spec.evaluator->period_seconds);
  options.averages_weights = spec.training.ema.has_value();
  options.judging = JudgingFrom(spec);
  options.gradient_clip_norm = spec.training.gradient_clip_norm;
  options.non_finite = NonFiniteOptionsFrom(spec.training.non_finite);
  options.hang = HangOptionsFrom(spec.workers.straggler_policy);
  options.schedule = job::ScheduleOptionsFrom(spec.training);
  options.parameter_groups = job::ParameterGroupsFrom(job);
  options.is_layer_wise = optim::IsLayerWise(job::OptimizerOptionsFrom(job));
  options.schedule_step_epochs = static_cast<uint64_t>(spec.training.learning_rate.step_epochs);
  options.schedule_period_epochs =
      static_cast<uint64_t>(spec.training.learning_rate.cosine_restarts.period_epochs);
  options.seed = static_cast<uint64_t>(spec.training.seed);
  return options;
}

std::vector<coordination::GroupOptions> GroupsFrom(const job::Workers& workers) {
  std::vector<coordination::GroupOptions> groups;
  for (const job::GroupView& group : job::GroupsOf(workers)) {
    if (group.name.empty()) break;
    groups.push_back({.name = std::string(group.name),
                      .wanted = static_cast<uint32_t>(group.replicas),
                      .min = static_cast<uint32_t>(group.needed)});
  }
  return groups;
}

StragglerOptions StragglerOptionsFrom(const job::TrainingJob& job) {
  const job::StragglerPolicy& policy = job.spec.workers.straggler_policy;
  return {.slowdown_percent = policy.slowdown_percent, .for_time = Seconds(policy.for_seconds)};
}

bool SharesMemory(const job::TrainingJob& job, std::string_view listen) {
  return job.spec.network.transport == job::Transport::kAuto && listen.starts_with("unix:");
}

Duration TransferIdleFrom(const job::TrainingJob& job) {
  return Seconds(job.spec.network.transfer_idle_seconds);
}

Duration KeepaliveTimeoutFrom(const job::TrainingJob& job) {
  return std::max(GrpcServerOptions().keepalive_timeout, TransferIdleFrom(job));
}

}  // namespace paceline::ps
