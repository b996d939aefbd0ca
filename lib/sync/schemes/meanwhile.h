// Defines Meanwhile: what a worker does until its push is answered.
#pragma once

#include "lib/sync/contract/word.h"

namespace paceline::sync {

enum class Meanwhile {
  kWait,        // Nothing.
  kGoOn,        // The next step on the newest version; its push waits in the open sum.
  kLocalSteps,  // Steps on its own copy, until the round ends.
  kEagerPull,   // Steps on what it has, while the answers travel.
};

inline constexpr Word<Meanwhile> kMeanwhileWords[] = {
    {Meanwhile::kWait, "wait"},
    {Meanwhile::kGoOn, "go-on"},
    {Meanwhile::kLocalSteps, "local-steps"},
    {Meanwhile::kEagerPull, "eager-pull"},
};
constexpr Words<Meanwhile> WordsOf(Meanwhile) { return kMeanwhileWords; }

}  // namespace paceline::sync
