#include "simulator/advice/own_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/job/manifest/enums.h"
#include "lib/job/manifest/values/metric.h"
#include "lib/job/optimizer_options.h"

namespace paceline::simulator {
namespace {

constexpr const char* kWantTarget =
    "spec.training.stop.target with metric Accuracy or Loss would say what a scheme is to reach";

// Less than any number of errors.
constexpr double kNoError = 1e-12;

Status CheckTrained(const job::JobSpec& spec) {
  if (!spec.workers.command.empty())
    return FailedPrecondition("its workers run a command of their own, which has the model");
  if (!spec.model.torch_script && !spec.model.built_in)
    return FailedPrecondition("the job names no model");
  const job::Training& training = spec.training;
  if (training.optimizer.type != job::OptimizerType::kSgd) {
    return FailedPrecondition("{} is not simulated, SGD is", job::ToWord(training.optimizer.type));
  }
  if (training.learning_rate.schedule == job::Schedule::kReduceOnPlateau)
    return FailedPrecondition("the schedule ReduceOnPlateau is not simulated");
  if (training.precision == job::Precision::kFloat16)
    return FailedPrecondition("the loss scaling of Float16 is not simulated");
  return OkStatus();
}

// What the life is judged by, and until when.
Status TakeTarget(const job::JobSpec& spec, ModelSetting& setting) {
  const std::optional<job::Target>& target = spec.training.stop.target;
  if (!target) return FailedPrecondition("the job has no target: {}", kWantTarget);
  if (!spec.data.eval)
    return FailedPrecondition("there is no spec.data.eval that its target is judged on");
  const job::Better better = job::BetterOf(target->metric, target->better);
  if (job::IsOwnMetric(target->metric) || better != job::BetterOf(target->metric, {})) {
    return FailedPrecondition("its target is of metric {}: {}", target->metric, kWantTarget);
  }
  setting.is_judged_by_error = target->metric == job::kAccuracyMetric;
  setting.target_loss =
      setting.is_judged_by_error ? std::max(1 - target->value, kNoError) : target->value;
  setting.until =
      fmt::format("{} {:g}", setting.is_judged_by_error ? "accuracy" : "loss", target->value);
  if (setting.target_loss > 0) return OkStatus();
  return FailedPrecondition("its target, loss {:g}, is not above 0", target->value);
}

std::vector<std::string> NotSimulated(const job::JobSpec& spec) {
  const job::Training& training = spec.training;
  const job::Sgd& sgd = training.optimizer.sgd;
  std::vector<std::string> found;
  if (sgd.weight_decay > 0) found.push_back(fmt::format("weight decay {:g}", sgd.weight_decay));
  if (sgd.dampening > 0) found.push_back(fmt::format("dampening {:g}", sgd.dampening));
  if (sgd.nesterov) found.emplace_back("Nesterov's momentum");
  if (training.gradient_clip_norm)
    found.push_back(fmt::format("gradientClipNorm {:g}", *training.gradient_clip_norm));
  const auto has_own = [](const job::ParameterGroup& group) {
    return !group.frozen && (group.weight_decay || group.learning_rate_scale != 1);
  };
  if (std::ranges::any_of(training.parameter_groups, has_own))
    found.emplace_back("rates and decays of parameterGroups");
  if (training.ema) found.emplace_back("the moving average of the weights");
  if (spec.data.on_drop != job::OnDrop::kReturn) found.emplace_back("data.onDrop");
  return found;
}

}  // namespace

StatusOr<ModelSetting> ModelSettingOf(const job::TrainingJob& job) {
  const job::JobSpec& spec = job.spec;
  const job::Training& training = spec.training;
  PACELINE_RETURN_IF_ERROR(CheckTrained(spec));
  ModelSetting setting;
  setting.name = spec.model.torch_script
                     ? *spec.model.torch_script
                     : fmt::format("the built-in {}", job::ToWord(*spec.model.built_in));
  PACELINE_RETURN_IF_ERROR(TakeTarget(spec, setting));
  if (spec.evaluator) setting.look_seconds = spec.evaluator->period_seconds;
  setting.rate = training.learning_rate.base;
  setting.momentum = training.optimizer.sgd.momentum;
  setting.schedule = job::ScheduleOptionsFrom(training);
  setting.step_epochs = static_cast<uint64_t>(training.learning_rate.step_epochs);
  setting.period_epochs =
      static_cast<uint64_t>(training.learning_rate.cosine_restarts.period_epochs);
  setting.epochs_max = static_cast<uint64_t>(training.stop.max_epochs.value_or(0));
  setting.steps_max = static_cast<uint64_t>(training.stop.max_steps.value_or(0));
  setting.not_simulated = NotSimulated(spec);
  return setting;
}

ClusterOptions ClusterWith(const OwnModel& model, ClusterOptions cluster, double recorded_seconds) {
  const ModelSetting& setting = model.setting;
  cluster.model = model.objective;
  cluster.train_samples = model.train_samples;
  cluster.target_loss = setting.target_loss;
  cluster.loss_every_seconds = std::min(setting.look_seconds, recorded_seconds / kLooksMin);
  cluster.learning_rate = setting.rate;
  cluster.momentum = setting.momentum;
  cluster.epochs_max = setting.epochs_max;
  cluster.steps_max = setting.steps_max;
  if (setting.epochs_max > 0 || setting.steps_max > 0) cluster.seconds_max = 0;
  // As coordination has it where the first worker has told how many samples there are.
  optim::ScheduleOptions& schedule = cluster.schedule = setting.schedule;
  const uint64_t by_epochs = setting.epochs_max * model.train_samples;
  const uint64_t by_steps = setting.steps_max * schedule.global_batch;
  schedule.total_samples =
      by_epochs == 0 || (by_steps > 0 && by_steps < by_epochs) ? by_steps : by_epochs;
  schedule.step_samples = setting.step_epochs * model.train_samples;
  schedule.period_samples = setting.period_epochs * model.train_samples;
  return cluster;
}

}  // namespace paceline::simulator
