// Defines how published versions are evaluated: which commits are pinned for it, when the evaluator
// is asked, what its answer means.
#pragma once

#include "lib/coordination/state.h"

namespace paceline::coordination {

// Whether the next commit shall be pinned for the evaluator, which is idle and due. If so, it is
// remembered.
bool TakePin(Turn turn, Version next);

// All shards have published it.
void OnPublishedForEvaluation(Turn turn, Version version);

// Asks for that version, if there is an evaluator that owes no answer.
void AskEvaluator(Turn turn, Version version);

void OnEvaluated(Turn turn, ConnectionId connection, const protocol::Evaluated& result);
void OnEvaluatorLost(Turn turn);

bool IsTargetMet(const CoordinatorOptions& options, const protocol::Evaluated& result);
// "Accuracy >= 0.98", "Loss <= 0.1".
std::string TargetInWords(const Target& target);
double TargetValue(const Target& target, const protocol::Evaluated& result);

}  // namespace paceline::coordination
