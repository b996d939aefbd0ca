// Defines what Auto can choose among, what each choice is worth, and which one is best.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/sync/contract/decision.h"
#include "lib/sync/schemes/auto/shadow.h"
#include "lib/sync/schemes/estimates/noise_scale.h"

namespace paceline::sync {

struct AutoChoice {
  Way way = Way::kBarrier;
  uint32_t k = 0;  // Pushes of a version; 0: with a barrier, of all workers.
  friend bool operator==(const AutoChoice&, const AutoChoice&) = default;
};

// The least k with a barrier: a quarter of the workers, but two where there are three or four.
uint32_t LeastBarrier(uint32_t workers);
// Pushes of a version without one.
uint32_t PushesOfAsync(uint32_t workers);

// How it is without a barrier.
struct AsyncTerms {
  double communication = 0;  // Seconds that a step takes beside computing.
  double trust = 1;          // In what steps are worth; 0: they are out of question.
};

// Of progress: steps of all workers, without noise, to first order, a second.
struct Estimates {
  std::vector<uint32_t> ks;      // Candidates with a barrier, rising.
  std::vector<double> seconds;   // Of a round of each.
  std::vector<double> progress;  // Of each.
  double sweep_seconds = 0;      // Of a global batch without a barrier.
  double async_progress = 0;

  // Of a round of `k`; of the largest for 0. Not of empty ones.
  double SecondsOf(uint32_t k) const;
  double ProgressOf(const AutoChoice& choice) const;
};

// Of a round of `choice`, or of a sweep, however long it takes. A step of few pushes is as much
// shorter as makes it as long as one of all.
double WorthOf(const AutoChoice& choice, const NoiseScale& noise, uint32_t workers, double trust);

// `foresight`: of what rounds of the first pushes promise, how much came true lately.
Estimates Estimate(std::span<const ShadowWorker> workers, const ShadowRounds& rounds,
                   const AsyncTerms& async, const NoiseScale& noise, double foresight = 1);

// The best, `present` with a margin before others. Of estimates that are not empty.
AutoChoice Best(const Estimates& estimates, const AutoChoice& present);

}  // namespace paceline::sync
