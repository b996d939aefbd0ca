// Defines FinishingState: how far a job that has reached its stop is. Inside lib/coordination only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/time.h"
#include "lib/base/version.h"

namespace paceline::coordination {

struct FinishingState {
  // The model is written before anything is judged that could fail.
  enum class Stage { kQuiescing, kKeeping, kSaving, kEvaluating };
  Stage stage = Stage::kQuiescing;
  std::string reason;
  Time quiesced;                          // What is outstanding then is given up.
  std::optional<Time> evaluator_awaited;  // Until then one may join.
  std::optional<Version> target_met;      // The pinned version that met the target: the final one.
  std::string target_value;               // What that version came to.
  std::string not_evaluated;              // Why the final version was not; empty: it was, or waits.
  uint32_t evaluators_lost = 0;           // While they owed its evaluation.
  bool have_scripts_ended = false;        // That is the reason.
  bool is_unjudged = false;               // Training ends since nobody can judge its target.
  std::optional<Version> saved;           // Of the model that is written.
  std::string not_saved;                  // Why the one that met the target could not be, but that.
  bool is_suspending = false;             // No evaluation, no model: only a checkpoint.
  bool is_kept = false;                   // The last version's checkpoint was made or tried.
  uint32_t fetches_failed = 0;
  std::optional<Time> fetch_again;  // To fetch or to write.
  bool is_fetched = false;          // The model is with the coordinator, not yet written.
  uint32_t saves_failed = 0;
  std::string save_problem;             // Of the last attempt to write it.
  std::optional<std::string> last_try;  // Asked to stop, with this reason: one attempt more.
};

}  // namespace paceline::coordination
