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

// An accuracy that is unknown once is so for good: it hangs on shapes, not on numbers.
void NoteWhetherJudged(JobState& job, const Evaluated& result) {
  const auto& target = job.options.target;
  const bool is_unknown = target.has_value() && !TargetValue(*target, result).has_value();
  job.recovery.no_accuracy = is_unknown ? result.accuracy_from : "";
}

void Unpin(Turn turn) {
  turn.Order(protocol::Unpin{*turn.job.evaluation.pinned});
  turn.job.evaluation.pinned.reset();
}

}  // namespace

void EndUnjudged(Turn turn) {
  JobState& job = turn.job;
  if (job.phase != Phase::kTraining) return;
  const bool has_other_stop = job.options.epochs_max > 0 || job.options.steps_max > 0;
  const std::optional<std::string> why = WhyUnjudged(job);
  if (has_other_stop || !why.has_value()) return;
  BeginFinishing(turn, *why);
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
  NoteWhetherJudged(job, result);
  turn.effects.push_back(EvaluationDone{result});
  const bool is_met = IsTargetMet(job.options, result);
  if (is_met && !job.finishing.target_met.has_value()) {
    BeginFinishing(turn, "");
    job.finishing.target_met = result.version;  // Stays pinned: it is the final model.
    job.finishing.target_value = TargetValueInWords(*job.options.target, result);
    job.finishing.is_unjudged = false;
    return;
  }
  if (evaluation.pinned == result.version) Unpin(turn);
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

std::optional<std::string> WhyUnjudged(const JobState& job) {
  const auto& target = job.options.target;
  if (!target.has_value()) return std::nullopt;
  const RecoveryState& known = job.recovery;
  const std::string words = "target " + TargetInWords(*target) + " cannot be judged: ";
  if (known.evaluator_gone.has_value()) return words + *known.evaluator_gone;
  if (!known.no_accuracy.empty()) return words + "there is no accuracy: " + known.no_accuracy;
  return std::nullopt;
}

std::optional<double> TargetValue(const Target& target, const Evaluated& result) {
  return target.metric == TargetMetric::kAccuracy ? result.accuracy : result.loss;
}

std::string TargetValueInWords(const Target& target, const Evaluated& result) {
  const std::optional<double> value = TargetValue(target, result);
  return value.has_value() ? fmt::format("{:.6g}", *value) : "unknown";
}

bool IsTargetMet(const CoordinatorOptions& options, const Evaluated& result) {
  if (!options.target.has_value()) return false;
  const std::optional<double> value = TargetValue(*options.target, result);
  if (!value.has_value()) return false;
  return options.target->metric == TargetMetric::kAccuracy ? *value >= options.target->value
                                                           : *value <= options.target->value;
}

std::string TargetInWords(const Target& target) {
  return target.metric == TargetMetric::kAccuracy ? fmt::format("Accuracy >= {:g}", target.value)
                                                  : fmt::format("Loss <= {:g}", target.value);
}

}  // namespace paceline::coordination
