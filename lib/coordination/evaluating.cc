#include "lib/coordination/evaluating.h"

#include "lib/coordination/asking.h"
#include "lib/coordination/finishing.h"

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

void Unpin(Turn turn) {
  turn.Order(protocol::Unpin{*turn.job.evaluation.pinned});
  turn.job.evaluation.pinned.reset();
}

}  // namespace

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
  turn.effects.push_back(EvaluationDone{result});
  const bool is_met = IsTargetMet(job.options, result);
  if (is_met && !job.finishing.target_met.has_value()) {
    BeginFinishing(turn, "");
    job.finishing.target_met = result.version;  // Stays pinned: it is the final model.
  } else if (evaluation.pinned == result.version) {
    Unpin(turn);
  }
}

void OnEvaluatorLost(Turn turn) {
  EvaluationState& evaluation = turn.job.evaluation;
  const bool was_asked_for_pinned =
      evaluation.asked.has_value() && evaluation.asked == evaluation.pinned;
  evaluation.asked.reset();
  evaluation.evaluator_layout.reset();
  // A pinned version that is not published yet is unpinned when it is.
  if (was_asked_for_pinned) Unpin(turn);
}

double TargetValue(const Target& target, const Evaluated& result) {
  return target.metric == TargetMetric::kAccuracy ? result.accuracy : result.loss;
}

bool IsTargetMet(const CoordinatorOptions& options, const Evaluated& result) {
  if (!options.target.has_value()) return false;
  const double value = TargetValue(*options.target, result);
  return options.target->metric == TargetMetric::kAccuracy ? value >= options.target->value
                                                           : value <= options.target->value;
}

std::string TargetInWords(const Target& target) {
  return target.metric == TargetMetric::kAccuracy ? fmt::format("Accuracy >= {:g}", target.value)
                                                  : fmt::format("Loss <= {:g}", target.value);
}

}  // namespace paceline::coordination
