// Defines WbspKnobs: what may be chosen about WBSP (docs/schemes/wbsp.md).
#pragma once

#include <cstdint>

#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/word.h"

namespace paceline::sync {

// Whose push ends a round.
enum class RoundTrigger {
  kAllPushed,   // The last one's, once all have pushed.
  kDesignated,  // That of the worker that was elected as the slowest.
};

inline constexpr Word<RoundTrigger> kRoundTriggerWords[] = {
    {RoundTrigger::kAllPushed, "all-pushed"},
    {RoundTrigger::kDesignated, "designated"},
};
constexpr Words<RoundTrigger> WordsOf(RoundTrigger) { return kRoundTriggerWords; }

// What becomes of a push that was made for the round before.
enum class LatePush {
  kFold,  // It counts for the running one.
  kDrop,
};

inline constexpr Word<LatePush> kLatePushWords[] = {
    {LatePush::kFold, "fold"},
    {LatePush::kDrop, "drop"},
};
constexpr Words<LatePush> WordsOf(LatePush) { return kLatePushWords; }

struct WbspKnobs {
  RoundTrigger trigger = RoundTrigger::kAllPushed;
  LatePush late_push = LatePush::kFold;
  OnPull on_pull = OnPull::kRebase;
  MomentumOnPull momentum_on_pull = MomentumOnPull::kKeep;
  uint32_t local_steps_max = 32;    // Of one worker in one round, at least 1.
  double round_timeout_factor = 5;  // Times the mean round, above 1: then it ends without the rest.
  uint32_t elect_rounds = 20;       // kDesignated: rounds between two elections, at least 1.
  bool is_overlapped = true;        // Workers push and pull while they compute.
  bool is_normalised = false;       // Workers count alike, however many local steps they make.
  friend bool operator==(const WbspKnobs&, const WbspKnobs&) = default;
};

}  // namespace paceline::sync
