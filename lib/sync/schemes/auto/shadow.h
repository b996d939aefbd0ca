// Defines StepSeconds: how long rounds of k pushes would take with workers as fast as they were,
// for every k, without playing dice: each worker's times are gone through one after the other, no
// two workers beginning at the same place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::sync {

class StepTimes;

struct ShadowWorker {
  const StepTimes* times = nullptr;  // Not empty.
  double age = 0;                    // Of its running step, in the same unit.
};

struct ShadowRounds {
  double samples = 1;        // Of each worker's step.
  double communication = 0;  // Seconds that a step takes beside computing.
  // Who is late gives its step up and begins the next one with the others. Otherwise it finishes
  // first: its push is dropped, and it goes on from the newest version.
  bool are_late_interrupted = true;
};

// Mean seconds of a round that waits for so many pushes, for each of `ks`: of 1 to all, rising. Of
// thousands of workers fewer rounds are gone through.
std::vector<double> StepSeconds(std::span<const ShadowWorker> workers, const ShadowRounds& rounds,
                                std::span<const uint32_t> ks);

}  // namespace paceline::sync
