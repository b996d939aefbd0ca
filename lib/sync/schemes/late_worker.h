// Defines LateWorker: what a busy worker is told when its step is committed without it.
#pragma once

#include "lib/sync/contract/word.h"

namespace paceline::sync {

enum class LateWorker {
  kOffer,      // The new version; it finishes, and goes on from there (push and wait).
  kLeave,      // Nothing; it finishes, and pulls the newest (pull and wait).
  kInterrupt,  // To give its step up (push and interrupt).
};

inline constexpr Word<LateWorker> kLateWorkerWords[] = {
    {LateWorker::kOffer, "offer"},
    {LateWorker::kLeave, "leave"},
    {LateWorker::kInterrupt, "interrupt"},
};
constexpr Words<LateWorker> WordsOf(LateWorker) { return kLateWorkerWords; }

}  // namespace paceline::sync
