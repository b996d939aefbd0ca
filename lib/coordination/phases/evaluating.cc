#include "lib/coordination/phases/evaluating.h"

#include "lib/coordination/phases/asking.h"
#include "lib/coordination/phases/finishing.h"

namespace paceline::coordination {

using protocol::Evaluated;

bool TakePin(Turn turn, Version next) {
  JobState& job = turn.job;
  EvaluationState& evaluation = job.evaluation;
  const bool is_idle =
      job.membership.evaluator() != nullptr && !evaluation.asked && !evaluation.pinned;
  const bool is_due = turn.now - evaluation.started >= job.options.evaluation_period;
  if (job.phase != Phase::kTraining || !is_idle || !is_due) return false;
  evaluation.started = turn.now;
  evaluation.pinned = next;
  return true;
}

namespace {

// Evaluators that may be lost while they owe the evaluation of the final version.
constexpr uint32_t kFinalEvaluatorsMax = 3;

// What is unknown once is so for good: it hangs on the model and on shapes, not on numbers.
std::string WhyUnknown(const Measure& measure, const Evaluated& result) {
  return ValueOf(measure, result).has_value() ? "" : WhyNoValue(measure, result);
}

void NoteWhatIsUnknown(JobState& job, const Evaluated& result) {
  const CoordinatorOptions& options = job.options;
  if (options.target.has_value())
    job.recovery.target_unknown = WhyUnknown(options.target->measure, result);
  if (options.judging.IsWanted())
    job.recovery.measure_unknown = WhyUnknown(options.judging.measure, result);
}

void Unpin(Turn turn) {
  turn.Order(protocol::Unpin{*turn.job.evaluation.pinned});
  turn.job.evaluation.pinned.reset();
}

// It stays, in the place of the one that was the best until now. The last version of all has no
// pin, and needs none.
void KeepIfBest(Turn turn, const Evaluated& result) {
  EvaluationState& evaluation = turn.job.evaluation;
  const JudgingOptions& judging = turn.job.options.judging;
  const std::optional<double> value = ValueOf(judging.measure, result);
  const bool is_there =
      evaluation.pinned == result.version || turn.job.commits.published() == result.version;
  if (!judging.keeps_best || !value.has_value() || !is_there) return;
  if (!IsBetter(judging, *value, BestKept(turn.job))) return;
  if (evaluation.kept.has_value()) turn.Order(protocol::Unpin{evaluation.kept->version});
  evaluation.kept = result;
  if (evaluation.pinned == result.version) evaluation.pinned.reset();
}

// "stopped early: no better Loss than 0.31 of version 120 in 5 evaluations"
std::string EarlyInWords(const JobState& job) {
  const Judged& judged = job.evaluation.judged;
  const std::string& metric = job.options.judging.measure.metric;
  if (!judged.best.has_value())
    return fmt::format("stopped early: no finite {} in {} evaluations", metric,
                       judged.without_better);
  return fmt::format("stopped early: no better {} than {:.6g} of {} in {} evaluations", metric,
                     judged.best->value, judged.best->version, judged.without_better);
}

}  // namespace

std::optional<Best> BestKept(const JobState& job) {
  const std::optional<protocol::Evaluated>& kept = job.evaluation.kept;
  if (!kept.has_value()) return std::nullopt;
  const std::optional<double> value = ValueOf(job.options.judging.measure, *kept);
  return value.has_value() ? std::optional(Best{kept->version, *value}) : std::nullopt;
}

void EndUnjudged(Turn turn) {
  JobState& job = turn.job;
  if (job.phase != Phase::kTraining) return;
  const std::optional<std::string> target = WhyUnjudged(job), measure = WhyNotMeasured(job);
  const bool ends_by_target = job.options.target.has_value() && !target.has_value();
  const bool ends_early = job.options.judging.patience > 0 && !measure.has_value();
  const bool has_stop =
      job.options.epochs_max > 0 || job.options.steps_max > 0 || ends_by_target || ends_early;
  if (has_stop || (!target.has_value() && !measure.has_value())) return;
  BeginFinishing(turn, target.has_value() ? *target : *measure);
  job.finishing.is_unjudged = true;
}

void AskEvaluator(Turn turn, Version version) {
  const Session* evaluator = turn.job.membership.evaluator();
  if (evaluator == nullptr || turn.job.evaluation.asked.has_value()) return;
  turn.job.evaluation.asked = version;
  turn.Send(evaluator->connection, protocol::Evaluate{version});
}

void OnPublishedForEvaluation(Turn turn, Version version) {
  if (turn.job.evaluation.pinned != version) return;
  AskEvaluator(turn, version);
  if (turn.job.evaluation.asked != version) Unpin(turn);
}

void OnEvaluated(Turn turn, ConnectionId connection, const Evaluated& result) {
  JobState& job = turn.job;
  EvaluationState& evaluation = job.evaluation;
  const Session* evaluator = job.membership.evaluator();
  if (evaluator == nullptr || evaluator->connection != connection ||
      evaluation.asked != result.version) {
    return Expel(turn, connection, fmt::format("evaluated {} unasked", result.version));
  }
  evaluation.asked.reset();
  evaluation.newest = result;
  job.recovery.evaluator_gone.reset();
  NoteWhatIsUnknown(job, result);
  const uint32_t cuts_before = evaluation.judged.cuts;
  evaluation.judged.See(job.options.judging, result);
  const bool is_best =
      evaluation.judged.best.has_value() && evaluation.judged.best->version == result.version;
  turn.effects.push_back(EvaluationDone{result, is_best, evaluation.judged.cuts != cuts_before});
  const bool is_met = IsTargetMet(job.options, result);
  if (is_met && !job.finishing.target_met.has_value()) {
    BeginFinishing(turn, "");
    job.finishing.target_met = result.version;  // Stays pinned: it is the final model.
    job.finishing.target_value = TargetValueInWords(*job.options.target, result);
    job.finishing.is_unjudged = false;
    return;
  }
  KeepIfBest(turn, result);
  if (evaluation.pinned == result.version) Unpin(turn);
  const uint32_t patience = job.options.judging.patience;
  if (patience > 0 && evaluation.judged.without_better >= patience)
    BeginFinishing(turn, EarlyInWords(job));
  EndUnjudged(turn);
}

void OnEvaluatorGone(Turn turn, const std::string& reason) {
  turn.job.recovery.evaluator_gone = reason;
  EndUnjudged(turn);
}

void OnEvaluatorLost(Turn turn, const std::string& why, bool has_hung) {
  EvaluationState& evaluation = turn.job.evaluation;
  FinishingState& finishing = turn.job.finishing;
  const bool was_for_final =
      finishing.stage == FinishingState::Stage::kEvaluating && evaluation.asked.has_value();
  // Another one would likely hang as long.
  if (was_for_final && (++finishing.evaluators_lost >= kFinalEvaluatorsMax || has_hung))
    finishing.not_evaluated = why;
  const bool was_asked_for_pinned =
      evaluation.asked.has_value() && evaluation.asked == evaluation.pinned;
  evaluation.asked.reset();
  evaluation.evaluator_layout.reset();
  // A pinned version that is not published yet is unpinned when it is.
  if (was_asked_for_pinned) Unpin(turn);
}

namespace {

std::optional<std::string> WhyUnknown(const JobState& job, const std::string& unknown) {
  if (job.recovery.evaluator_gone.has_value()) return job.recovery.evaluator_gone;
  if (!unknown.empty()) return unknown;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyUnjudged(const JobState& job) {
  const auto& target = job.options.target;
  const auto why = WhyUnknown(job, job.recovery.target_unknown);
  if (!target.has_value() || !why.has_value()) return std::nullopt;
  return fmt::format("target {} cannot be judged: {}", TargetInWords(*target), *why);
}

std::optional<std::string> WhyNotMeasured(const JobState& job) {
  const JudgingOptions& judging = job.options.judging;
  const auto why = WhyUnknown(job, job.recovery.measure_unknown);
  if (!judging.IsWanted() || !why.has_value()) return std::nullopt;
  return fmt::format("no version can be judged by its {}: {}", judging.measure.metric, *why);
}

std::string ProblemsOfJudging(const JobState& job) {
  const std::string target = WhyUnjudged(job).value_or("");
  const std::string measure = WhyNotMeasured(job).value_or("");
  return target + (target.empty() || measure.empty() ? "" : "; ") + measure;
}

std::string TargetValueInWords(const Target& target, const Evaluated& result) {
  const std::optional<double> value = ValueOf(target.measure, result);
  return value.has_value() ? fmt::format("{:.6g}", *value) : "unknown";
}

bool IsTargetMet(const CoordinatorOptions& options, const Evaluated& result) {
  if (!options.target.has_value()) return false;
  const std::optional<double> value = ValueOf(options.target->measure, result);
  if (!value.has_value()) return false;
  return options.target->measure.is_higher_better ? *value >= options.target->value
                                                  : *value <= options.target->value;
}

std::string TargetInWords(const Target& target) {
  return fmt::format("{} {} {:g}", target.measure.metric,
                     target.measure.is_higher_better ? ">=" : "<=", target.value);
}

}  // namespace paceline::coordination
