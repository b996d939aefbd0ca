// Defines LearningRateScale: how much of a push counts, by how late it will be.
//
// The worker multiplies what its local optimizer gives by the scale, after momentum, so that no
// scale leaks into later steps.
#pragma once

#include <cstdint>

#include "lib/sync/contract/word.h"

namespace paceline::sync {

enum class Modulation {
  kStaleness,    // (tau_ref / tau)^power beyond what equal workers would show: the default.
  kInverse,      // 1 / tau (Zhang et al. 2016).
  kExponential,  // exp(-power x (tau / tau_ref - 1)) beyond what equal workers would show.
  kProgressGap,  // (own pace / the fastest's)^power.
  kNone,
};

inline constexpr Word<Modulation> kModulationWords[] = {
    {Modulation::kStaleness, "staleness"},
    {Modulation::kInverse, "inverse"},
    {Modulation::kExponential, "exponential"},
    {Modulation::kProgressGap, "progress-gap"},
    {Modulation::kNone, "none"},
};
constexpr Words<Modulation> WordsOf(Modulation) { return kModulationWords; }

struct ModulationOptions {
  Modulation rule = Modulation::kStaleness;
  double power = 1;           // Above 0.
  double scale_min = 0.0625;  // The least that is left of a push, above 0 and at most 1.
  friend bool operator==(const ModulationOptions&, const ModulationOptions&) = default;
};

// What is known of a push before it is sent.
struct Lateness {
  uint64_t missed = 0;   // tau: updates by others since what the push is computed on was read.
  uint32_t workers = 1;  // Live. tau_ref, what a cluster of equal workers shows, is one less.
  double pace = 1;       // Own steps over the fastest worker's, of late; 0..1.
};

// In [scale_min, 1]; 1 for the only worker. A pure function.
double LearningRateScale(const ModulationOptions& options, const Lateness& lateness);

}  // namespace paceline::sync
