#include <string>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

void CheckBatch(const JobSpec& spec, Findings& findings) {
  const Training& training = spec.training;
  const int64_t batch = training.global_batch_size;
  if (training.micro_batch_size && *training.micro_batch_size > batch) {
    findings.Add("spec.training.microBatchSize",
                 fmt::format("must be at most training.globalBatchSize, {}: got {}", batch,
                             *training.micro_batch_size),
                 {"spec.training.globalBatchSize"});
  }
  const int64_t workers = ReplicasOf(spec.workers), most = MostOf(spec.workers);
  if (batch < workers) {
    findings.Add(
        "spec.training.globalBatchSize",
        fmt::format(
            "must be at least workers.replicas, {}, so that each worker has a sample: got {}",
            workers, batch),
        {"spec.workers.replicas", "spec.workers.groups"});
  } else if (batch < most) {
    findings.Add(spec.workers.groups.empty() ? "spec.workers.maxReplicas" : "spec.workers.groups",
                 fmt::format("must be at most training.globalBatchSize, {}, so that each worker "
                             "has a sample: got {}",
                             batch, most),
                 {"spec.training.globalBatchSize"});
  }
}

void CheckOptimizer(const Optimizer& optimizer, Findings& findings) {
  const Sgd& sgd = optimizer.sgd;
  if (optimizer.type != OptimizerType::kSgd || !sgd.nesterov) return;
  const std::string path = "spec.training.optimizer.sgd.nesterov";
  if (sgd.momentum == 0) {
    findings.Add(path, "needs sgd.momentum more than 0: got 0",
                 {"spec.training.optimizer.sgd.momentum"});
  } else if (sgd.dampening != 0) {
    findings.Add(path, fmt::format("needs sgd.dampening 0: got {}", sgd.dampening),
                 {"spec.training.optimizer.sgd.dampening"});
  }
}

bool HasEnd(Schedule schedule) {
  return schedule == Schedule::kCosine || schedule == Schedule::kLinear ||
         schedule == Schedule::kPolynomial || schedule == Schedule::kWsd ||
         schedule == Schedule::kOneCycle;
}

bool HasFinal(Schedule schedule) {
  return schedule == Schedule::kCosineRestarts || schedule == Schedule::kReduceOnPlateau ||
         (HasEnd(schedule) && schedule != Schedule::kOneCycle);
}

void CheckLearningRate(const Training& training, Findings& findings) {
  const LearningRate& rate = training.learning_rate;
  const StopRule& stop = training.stop;
  if (HasEnd(rate.schedule) && !stop.max_epochs && !stop.max_steps) {
    findings.Add("spec.training.learningRate.schedule",
                 fmt::format("{} needs stop.maxEpochs or stop.maxSteps, where it ends",
                             ToWord(rate.schedule)),
                 {"spec.training.stop"});
  }
  if (HasFinal(rate.schedule) && rate.final > rate.base) {
    findings.Add(
        "spec.training.learningRate.final",
        fmt::format("must be at most learningRate.base, {}: got {}", rate.base, rate.final),
        {"spec.training.learningRate.base"});
  }
  if (rate.schedule == Schedule::kOneCycle && rate.warmup_steps > 0) {
    findings.Add(
        "spec.training.learningRate.warmupSteps",
        fmt::format("must be 0 with schedule OneCycle, whose warm-up is oneCycle.peakShare: got {}",
                    rate.warmup_steps),
        {"spec.training.learningRate.schedule"});
  }
  if (stop.max_steps && rate.warmup_steps >= *stop.max_steps) {
    findings.Add("spec.training.learningRate.warmupSteps",
                 fmt::format("must be less than stop.maxSteps, {}: got {}", *stop.max_steps,
                             rate.warmup_steps),
                 {"spec.training.stop.maxSteps"});
  }
}

void CheckParameterGroups(const std::vector<ParameterGroup>& groups, Findings& findings) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const ParameterGroup& group = groups[i];
    const std::string path = fmt::format("spec.training.parameterGroups[{}]", i);
    if (group.match.empty())
      findings.Add(path + ".match", "must have a pattern, such as \"*.bias\"");
    if (!group.frozen) continue;
    if (group.weight_decay || group.learning_rate_scale != 1) {
      findings.Add(path + ".frozen",
                   "must be false with weightDecay or learningRateScale: what is frozen stays as "
                   "it is",
                   {path + ".weightDecay", path + ".learningRateScale"});
    }
  }
}

void CheckStop(const StopRule& stop, Findings& findings) {
  if (stop.max_epochs || stop.max_steps || stop.target || stop.patience) return;
  findings.Add("spec.training.stop",
               "must have maxEpochs, maxSteps, target or patience: got none of them");
}

void CheckDeterministic(const JobSpec& spec, Findings& findings) {
  if (!spec.training.deterministic) return;
  if (spec.sync.scheme != Scheme::kBsp) {
    findings.Add("spec.training.deterministic",
                 fmt::format("needs sync.scheme BSP: got {}", ToWord(spec.sync.scheme)),
                 {"spec.sync.scheme"});
  } else if (spec.sync.batch_sizing.strategy != BatchStrategy::kEqual) {
    findings.Add("spec.training.deterministic",
                 fmt::format("needs sync.batchSizing.strategy Equal: got {}",
                             ToWord(spec.sync.batch_sizing.strategy)),
                 {"spec.sync.batchSizing"});
  }
}

}  // namespace

void CheckTraining(const TrainingJob& job, Findings& findings) {
  CheckBatch(job.spec, findings);
  CheckOptimizer(job.spec.training.optimizer, findings);
  CheckParameterGroups(job.spec.training.parameter_groups, findings);
  CheckLearningRate(job.spec.training, findings);
  CheckStop(job.spec.training.stop, findings);
  CheckDeterministic(job.spec, findings);
}

}  // namespace paceline::job
