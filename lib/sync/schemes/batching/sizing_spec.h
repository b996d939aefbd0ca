// Defines SizingSpec: how the global batch is shared out, with which knobs, as a value.
#pragma once

#include <cstdint>

#include "lib/sync/contract/word.h"

namespace paceline::sync {

// Named as in manifests.
enum class Sizing { kEqual, kEma, kNarx, kStepwise };

inline constexpr Word<Sizing> kSizingWords[] = {
    {Sizing::kEqual, "Equal"},
    {Sizing::kEma, "EMA"},
    {Sizing::kNarx, "NARX"},
    {Sizing::kStepwise, "Stepwise"},
};
constexpr Words<Sizing> WordsOf(Sizing) { return kSizingWords; }

struct SizingSpec {
  Sizing strategy = Sizing::kEqual;
  uint32_t batch_min = 1;           // Samples of one worker, at least 1.
  uint32_t batch_max = UINT32_MAX;  // Samples of one worker, not below batch_min.
  double newest_weight = 0.3;       // EMA, NARX: of the newest measurement in the mean.
  uint32_t period_steps = 5;        // Stepwise: steps between two changes, at least 1.
  double dead_band = 0.05;          // Stepwise: spread of step times without change, of their mean.
  double rapid = 0.3;               // Stepwise: spread from which sizes are computed anew.
  friend bool operator==(const SizingSpec&, const SizingSpec&) = default;
};

}  // namespace paceline::sync
