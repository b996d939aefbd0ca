// Defines UpdateScale: how far the pushes of a version move the parameters.
#pragma once

#include "lib/sync/contract/word.h"

namespace paceline::sync {

enum class UpdateScale {
  kPerWorker,  // By their share of the global batch: one sweep over all workers is one BSP step.
  kFull,       // By a whole step.
};

inline constexpr Word<UpdateScale> kUpdateScaleWords[] = {
    {UpdateScale::kPerWorker, "per-worker"},
    {UpdateScale::kFull, "full"},
};
constexpr Words<UpdateScale> WordsOf(UpdateScale) { return kUpdateScaleWords; }

}  // namespace paceline::sync
