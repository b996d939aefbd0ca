#include "simulator/advice/setting.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/job/manifest/enums.h"
#include "lib/job/manifest/load.h"
#include "lib/job/manifest/words.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::simulator {
namespace {

double MomentumOf(const job::Optimizer& optimizer) {
  switch (optimizer.type) {
    case job::OptimizerType::kSgd:
      return optimizer.sgd.momentum;
    case job::OptimizerType::kAdamW:
      return optimizer.adam_w.beta1;
    case job::OptimizerType::kLion:
      return optimizer.lion.beta1;
    case job::OptimizerType::kLamb:
      return optimizer.lamb.beta1;
    case job::OptimizerType::kAdagrad:
      return 0;
  }
  return 0;
}

double SimulatedRate(const Setting& setting) {
  const double kept = 1 - setting.momentum;
  const bool is_sgd = setting.optimizer.empty() || setting.optimizer == "SGD";
  if (!is_sgd || setting.rate <= 0) return kUsualReach * kept;
  return std::clamp(setting.rate / kept, kLeastReach, kMostReach) * kept;
}

// That model and data are missing in nobody's eyes: workers bring their own.
std::string ManifestLike(const Recording& recording, double momentum, double rate) {
  return fmt::format(
      "apiVersion: paceline.dev/v1alpha1\n"
      "kind: TrainingJob\n"
      "metadata: {{name: recorded}}\n"
      "spec:\n"
      "  training:\n"
      "    globalBatchSize: {}\n"
      "    optimizer: {{type: SGD, sgd: {{momentum: {}}}}}\n"
      "    learningRate: {{base: {}}}\n"
      "    stop: {{maxSteps: 1}}\n"
      "  workers: {{replicas: {}, command: [train]}}\n",
      recording.batch, momentum, rate > 0 ? rate : kUsualReach, recording.workers.size());
}

}  // namespace

StatusOr<Setting> SettingOf(const std::string& job_json, const Recording& recording) {
  Setting setting{.manifest = job_json, .is_job_known = !job_json.empty()};
  setting.rate = recording.learning_rate;
  if (!setting.is_job_known) {
    // DBW is told the momentum; other policies have no use for it.
    PACELINE_ASSIGN_OR_RETURN(const sync::PolicySpec policy,
                              sync::ParsePolicySpec(recording.policy));
    setting.momentum = policy.dbw.momentum;
    setting.manifest = ManifestLike(recording, setting.momentum, setting.rate);
  }
  const job::Decoded decoded = job::LoadJob(setting.manifest, {}, job::Capabilities());
  if (!decoded.errors.empty())
    return InvalidArgument("its job cannot run: {}", job::ToString(decoded.errors.front()));
  if (setting.is_job_known) {
    const job::Training& training = decoded.job.spec.training;
    setting.optimizer = ToWord(training.optimizer.type);
    setting.momentum = MomentumOf(training.optimizer);
    setting.rate = training.learning_rate.base;
    setting.warmup_steps = static_cast<uint64_t>(training.learning_rate.warmup_steps);
  }
  setting.simulated_rate = SimulatedRate(setting);
  return setting;
}

}  // namespace paceline::simulator
