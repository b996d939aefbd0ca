// Defines how published versions are evaluated: which commits are pinned for it, when the evaluator
// is asked, what its answer means.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// Whether the next commit shall be pinned for the evaluator, which is idle and due. If so, it is
// remembered.
bool TakePin(Turn turn, Version next);

// All shards have published it.
void OnPublishedForEvaluation(Turn turn, Version version);

// Asks for that version, if there is an evaluator that owes no answer.
void AskEvaluator(Turn turn, Version version);

// The evaluator is not started again; why.
void OnEvaluatorGone(Turn turn, const std::string& reason);

// In words, why nobody will ever judge the target; nothing while somebody may, or there is none.
std::optional<std::string> WhyUnjudged(const JobState& job);

// The same of what makes one version better than another.
std::optional<std::string> WhyNotMeasured(const JobState& job);
// Both, for people; empty: none.
std::string ProblemsOfJudging(const JobState& job);

// Ends training, in failure, where nothing would ever end it but a judgement that nobody can make.
void EndUnjudged(Turn turn);

// The version that is kept, by what it is judged by; nothing: none is.
std::optional<Best> BestKept(const JobState& job);

void OnEvaluated(Turn turn, ConnectionId connection, const protocol::Evaluated& result);
void OnEvaluatorLost(Turn turn, const std::string& why, bool has_hung);

bool IsTargetMet(const CoordinatorOptions& options, const protocol::Evaluated& result);
// "Accuracy >= 0.98", "Loss <= 0.1".
std::string TargetInWords(const Target& target);
// "0.97", "unknown".
std::string TargetValueInWords(const Target& target, const protocol::Evaluated& result);

}  // namespace paceline::coordination
