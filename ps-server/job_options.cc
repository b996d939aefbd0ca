#include "ps-server/job_options.h"

#include <algorithm>

#include "lib/job/manifest/enums.h"
#include "ps-server/service/grpc_server.h"

namespace paceline::ps {
namespace {

// Replicas, and their bound, may be raised while the job runs; a seat that nobody takes costs
// nothing.
constexpr int64_t kWorkersMax = 1024;

optim::ScheduleKind ScheduleKindFrom(job::Schedule schedule) {
  switch (schedule) {
    case job::Schedule::kConstant:
      return optim::ScheduleKind::kConstant;
    case job::Schedule::kCosine:
      return optim::ScheduleKind::kCosine;
    case job::Schedule::kStep:
      return optim::ScheduleKind::kStep;
    case job::Schedule::kLinear:
      return optim::ScheduleKind::kLinear;
  }
  return optim::ScheduleKind::kConstant;
}

// What depends on the size of the training set is filled in by coordination, when the first worker
// has told it.
optim::ScheduleOptions ScheduleFrom(const job::Training& training) {
  const job::LearningRate& rate = training.learning_rate;
  optim::ScheduleOptions schedule;
  schedule.base = rate.base;
  schedule.warmup_steps = static_cast<uint64_t>(rate.warmup_steps);
  schedule.global_batch = static_cast<uint64_t>(training.global_batch_size);
  schedule.kind = ScheduleKindFrom(rate.schedule);
  schedule.step_factor = rate.factor;
  schedule.final_factor = rate.base > 0 ? rate.final / rate.base : 0;
  return schedule;
}

sync::Sizing SizingFrom(job::BatchStrategy strategy) {
  switch (strategy) {
    case job::BatchStrategy::kEqual:
      return sync::Sizing::kEqual;
    case job::BatchStrategy::kEma:
      return sync::Sizing::kEma;
    case job::BatchStrategy::kNarx:
      return sync::Sizing::kNarx;
    case job::BatchStrategy::kStepwise:
      return sync::Sizing::kStepwise;
  }
  return sync::Sizing::kEqual;
}

// Of knobs only those that the strategy looks at, so that a change of another changes no policy.
sync::SizingSpec SizingSpecFrom(const job::BatchSizing& sizing) {
  sync::SizingSpec spec;
  spec.strategy = SizingFrom(sizing.strategy);
  if (spec.strategy == sync::Sizing::kEqual) return spec;
  spec.batch_min = static_cast<uint32_t>(sizing.min_batch_size);
  if (sizing.max_batch_size) spec.batch_max = static_cast<uint32_t>(*sizing.max_batch_size);
  if (spec.strategy == sync::Sizing::kStepwise) {
    spec.period_steps = static_cast<uint32_t>(sizing.period_steps);
    spec.dead_band = sizing.dead_band_percent / 100;
    spec.rapid = sizing.rapid_percent / 100;
  } else {
    spec.newest_weight = sizing.ema_weight;
  }
  return spec;
}

// Of enums that say the same in the same order.
template <class To, class From>
To Same(From value) {
  static_assert(static_cast<int>(sync::DbwMethod::kAdaSync) ==
                static_cast<int>(job::DbwMethod::kAdaSync));
  static_assert(static_cast<int>(sync::LateWorker::kInterrupt) ==
                static_cast<int>(job::LateWorker::kInterrupt));
  static_assert(static_cast<int>(sync::NoGain::kHold) == static_cast<int>(job::DbwFallback::kHold));
  static_assert(static_cast<int>(sync::LossRule::kOff) ==
                static_cast<int>(job::DbwLossRule::kNone));
  static_assert(static_cast<int>(sync::RateRule::kTable) ==
                static_cast<int>(job::DbwRateRule::kTable));
  return static_cast<To>(static_cast<int>(value));
}

sync::DbwOptions DbwOptionsFrom(const job::TrainingJob& job) {
  const job::Dbw& from = job.spec.sync.dbw;
  const job::Optimizer& optimizer = job.spec.training.optimizer;
  sync::DbwOptions options;
  options.window = static_cast<uint32_t>(from.window);
  options.beta = from.beta;
  options.warmup_steps = static_cast<uint32_t>(from.warmup_steps);
  options.k_min = static_cast<uint32_t>(from.min_workers);
  options.refit_steps = static_cast<uint32_t>(from.refit_steps);
  options.aging = from.aging;
  options.rates = from.learning_rate_factors;
  options.silence_factor = from.silence_factor;
  options.silence_seconds = from.silence_seconds;
  options.ada_sync_k = static_cast<uint32_t>(from.ada_sync_workers);
  options.ada_sync_seconds = from.ada_sync_seconds;
  if (optimizer.type == job::OptimizerType::kSgd) options.momentum = optimizer.sgd.momentum;
  options.method = Same<sync::DbwMethod>(from.method);
  options.late_worker = Same<sync::LateWorker>(from.late_worker);
  options.no_gain = Same<sync::NoGain>(from.fallback);
  options.loss_rule = Same<sync::LossRule>(from.loss_rule);
  options.rate_rule = Same<sync::RateRule>(from.learning_rate_rule);
  return options;
}

sync::WbspKnobs KnobsFrom(const job::Wbsp& from) {
  sync::WbspKnobs knobs;
  if (from.trigger == job::RoundTrigger::kDesignated)
    knobs.trigger = sync::RoundTrigger::kDesignated;
  if (from.late_push == job::LatePush::kDrop) knobs.late_push = sync::LatePush::kDrop;
  if (from.on_pull == job::OnPull::kOverwrite) knobs.on_pull = sync::OnPull::kOverwrite;
  if (from.momentum == job::MomentumOnPull::kReset)
    knobs.momentum_on_pull = sync::MomentumOnPull::kReset;
  knobs.local_steps_max = static_cast<uint32_t>(from.max_local_steps);
  knobs.round_timeout_factor = from.round_timeout_factor;
  knobs.elect_rounds = static_cast<uint32_t>(from.elect_rounds);
  knobs.is_overlapped = from.overlap;
  knobs.is_normalised = from.normalise;
  return knobs;
}

sync::Modulation ModulationFrom(job::Modulation modulation) {
  switch (modulation) {
    case job::Modulation::kStaleness:
      return sync::Modulation::kStaleness;
    case job::Modulation::kInverse:
      return sync::Modulation::kInverse;
    case job::Modulation::kExponential:
      return sync::Modulation::kExponential;
    case job::Modulation::kProgressGap:
      return sync::Modulation::kProgressGap;
    case job::Modulation::kNone:
      return sync::Modulation::kNone;
  }
  return sync::Modulation::kStaleness;
}

coordination::NonFiniteOptions NonFiniteOptionsFrom(const job::NonFinite& from) {
  coordination::NonFiniteOptions options;
  if (from.action == job::NonFiniteAction::kFail)
    options.action = coordination::NonFiniteAction::kFail;
  options.learning_rate_factor = from.learning_rate_factor;
  options.limit = static_cast<uint32_t>(from.limit);
  return options;
}

coordination::HangOptions HangOptionsFrom(const job::StragglerPolicy& from) {
  coordination::HangOptions options;
  options.factor = from.hang_factor;
  options.first_step = Seconds(from.first_step_seconds);
  return options;
}

}  // namespace

coordination::CoordinatorOptions CoordinatorOptionsFrom(const job::TrainingJob& job,
                                                        uint64_t generation_start) {
  const job::JobSpec& spec = job.spec;
  coordination::CoordinatorOptions options;
  options.generation = {generation_start, 0};
  options.shards = static_cast<uint32_t>(spec.parameter_server.shards);
  options.workers_wanted = static_cast<uint32_t>(spec.workers.replicas);
  options.workers_min = static_cast<uint32_t>(spec.workers.min_replicas);
  options.workers_max = static_cast<uint32_t>(
      std::max(spec.workers.max_replicas.value_or(spec.workers.replicas), kWorkersMax));
  options.schedule_timeout =
      std::chrono::seconds(spec.run_policy.scheduling_policy.schedule_timeout_seconds);
  options.is_deterministic = spec.training.deterministic;
  options.on_drop = spec.data.on_drop == job::OnDrop::kReturn ? coordination::OnDrop::kReturn
                                                              : coordination::OnDrop::kDiscard;
  options.global_batch_size = static_cast<uint32_t>(spec.training.global_batch_size);
  options.epochs_max = static_cast<uint64_t>(spec.training.stop.max_epochs.value_or(0));
  options.steps_max = static_cast<uint64_t>(spec.training.stop.max_steps.value_or(0));
  if (const auto& target = spec.training.stop.target) {
    options.target = coordination::Target{.metric = target->metric == job::Metric::kAccuracy
                                                        ? coordination::TargetMetric::kAccuracy
                                                        : coordination::TargetMetric::kLoss,
                                          .value = target->value};
  }
  options.has_evaluator = spec.evaluator.has_value();
  if (spec.evaluator) options.evaluation_period = Seconds(spec.evaluator->period_seconds);
  options.gradient_clip_norm = spec.training.gradient_clip_norm;
  options.non_finite = NonFiniteOptionsFrom(spec.training.non_finite);
  options.hang = HangOptionsFrom(spec.workers.straggler_policy);
  options.schedule = ScheduleFrom(spec.training);
  options.schedule_step_epochs = static_cast<uint64_t>(spec.training.learning_rate.step_epochs);
  options.seed = static_cast<uint64_t>(spec.training.seed);
  return options;
}

StragglerOptions StragglerOptionsFrom(const job::TrainingJob& job) {
  const job::StragglerPolicy& policy = job.spec.workers.straggler_policy;
  return {.slowdown_percent = policy.slowdown_percent, .for_time = Seconds(policy.for_seconds)};
}

Duration TransferIdleFrom(const job::TrainingJob& job) {
  return Seconds(job.spec.network.transfer_idle_seconds);
}

Duration KeepaliveTimeoutFrom(const job::TrainingJob& job) {
  return std::max(GrpcServerOptions().keepalive_timeout, TransferIdleFrom(job));
}

StatusOr<sync::PolicySpec> PolicySpecFrom(const job::TrainingJob& job) {
  const job::Sync& from = job.spec.sync;
  sync::PolicySpec spec;
  spec.global_batch_size = static_cast<uint32_t>(job.spec.training.global_batch_size);
  spec.workers_expected = static_cast<uint32_t>(job.spec.workers.replicas);
  spec.is_deterministic = job.spec.training.deterministic;
  spec.sizing = SizingSpecFrom(from.batch_sizing);
  const auto scale = [](job::UpdateScale update_scale) {
    return update_scale == job::UpdateScale::kFull ? sync::UpdateScale::kFull
                                                   : sync::UpdateScale::kPerWorker;
  };
  switch (from.scheme) {
    case job::Scheme::kBsp:
      spec.scheme = sync::Scheme::kBsp;
      return spec;
    case job::Scheme::kBackupWorkers:
      spec.scheme = sync::Scheme::kBackupWorkers;
      spec.backup_workers = static_cast<uint32_t>(from.backup_workers.count);
      return spec;
    case job::Scheme::kSsp:
      spec.scheme = sync::Scheme::kSsp;
      spec.staleness = static_cast<uint64_t>(from.ssp.staleness);
      spec.update_scale = scale(from.ssp.update_scale);
      return spec;
    case job::Scheme::kAsp:
      spec.scheme = sync::Scheme::kAsp;
      spec.update_scale = scale(from.asp.update_scale);
      return spec;
    case job::Scheme::kDbw:
      spec.scheme = sync::Scheme::kDbw;
      spec.dbw = DbwOptionsFrom(job);
      return spec;
    case job::Scheme::kWbsp:
      spec.scheme = sync::Scheme::kWbsp;
      spec.wbsp = KnobsFrom(from.wbsp);
      return spec;
    case job::Scheme::kPsPlus:
      spec.scheme = sync::Scheme::kPsPlus;
      spec.staleness = from.ps_plus.staleness;  // Absent: no bound.
      spec.update_scale = scale(from.ps_plus.update_scale);
      spec.modulation = {.rule = ModulationFrom(from.ps_plus.modulation),
                         .power = from.ps_plus.power,
                         .scale_min = from.ps_plus.min_scale};
      return spec;
    default:
      break;
  }
  return Unimplemented("spec.sync.scheme is not available in this program: {}",
                       static_cast<int>(from.scheme));
}

}  // namespace paceline::ps
