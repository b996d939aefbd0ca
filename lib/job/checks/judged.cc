#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/manifest/values/metric.h"

namespace paceline::job {
namespace {

constexpr std::string_view kNameLetters =
    "0123456789./-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr size_t kFirstThatBegins = kNameLetters.find('_');

bool IsName(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kNameLetters) == text.npos &&
         kNameLetters.find(text.front()) >= kFirstThatBegins;
}

// Somebody has to evaluate.
void NeedHeldOut(const JobSpec& spec, const std::string& path, std::string_view prefix,
                 Findings& findings) {
  if (!spec.workers.command.empty()) {
    if (spec.evaluator) return;
    findings.Add(
        path, fmt::format("{}needs spec.evaluator with workers.command, which evaluates", prefix),
        {"spec.evaluator", "spec.workers.command"});
  } else if (!spec.data.eval) {
    findings.Add(
        path, fmt::format("{}needs data.eval, the held-out samples that it is measured on", prefix),
        {"spec.data.eval"});
  }
}

// `around`: the object whose fields they are.
void CheckMetric(const JobSpec& spec, const std::string& around, const std::string& metric,
                 const std::optional<Better>& better, Findings& findings) {
  const std::string path = around + ".metric";
  if (!IsOwnMetric(metric)) {
    if (better && *better != BetterOf(metric, {})) {
      findings.Add(around + ".better",
                   fmt::format("must be {} with metric {}: got {}", ToWord(BetterOf(metric, {})),
                               metric, ToWord(*better)),
                   {path});
    }
  } else if (metric == "accuracy" || metric == "loss") {
    findings.Add(path, fmt::format("must be {}, as it is spelled here: got \"{}\"",
                                   metric == "loss" ? kLossMetric : kAccuracyMetric, metric));
  } else if (!IsName(metric)) {
    findings.Add(path,
                 fmt::format("must be Accuracy, Loss or a name, a letter or _ and then letters, "
                             "digits, _ . / and -: got \"{}\"",
                             metric));
  }
  if (metric == kAccuracyMetric && spec.model.loss == Loss::kMeanSquaredError) {
    findings.Add(path,
                 "must be Loss with model.loss MeanSquaredError, which has no classes: got "
                 "Accuracy",
                 {"spec.model.loss"});
  }
}

void CheckTarget(const JobSpec& spec, const Target& target, Findings& findings) {
  NeedHeldOut(spec, "spec.training.stop.target", "", findings);
  CheckMetric(spec, "spec.training.stop.target", target.metric, target.better, findings);
  if (target.metric != kAccuracyMetric) return;
  if (target.value >= 0 && target.value <= 1) return;
  findings.Add("spec.training.stop.target.value",
               fmt::format("must be at {}, a share of the samples, with metric Accuracy: got {}",
                           target.value < 0 ? "least 0" : "most 1", target.value),
               {"spec.training.stop.target.metric"});
}

}  // namespace

void CheckJudged(const TrainingJob& job, Findings& findings) {
  const JobSpec& spec = job.spec;
  const Training& training = spec.training;
  if (training.stop.target) CheckTarget(spec, *training.stop.target, findings);
  if (training.stop.patience) NeedHeldOut(spec, "spec.training.stop.patience", "", findings);
  if (training.learning_rate.schedule == Schedule::kReduceOnPlateau)
    NeedHeldOut(spec, "spec.training.learningRate.schedule", "ReduceOnPlateau ", findings);
  if (spec.output.keep == KeptModel::kBest)
    NeedHeldOut(spec, "spec.output.keep", "Best ", findings);
  if (spec.evaluator) {
    CheckMetric(spec, "spec.evaluator", spec.evaluator->metric, spec.evaluator->better, findings);
  }
}

}  // namespace paceline::job
