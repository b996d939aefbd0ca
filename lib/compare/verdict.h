// Defines ArmRun, what one run of an arm came to, and what runs of several arms allow to be said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/compare/run_series.h"

namespace paceline::compare {

// A run that used more of the machine than this tells of the machine, not of its scheme.
inline constexpr double kCoresMax = 1.5;

struct ArmRun {
  std::string scheme;  // The arm's name.
  int64_t seed = 0;
  bool reached = false;                     // The goal, and the job succeeded.
  std::optional<double> seconds_to_target;  // From the first release to the goal's version.
  uint64_t steps = 0;                       // Versions.
  double step_seconds_p50 = 0;              // Of a worker's steps, all workers together.
  double compute_share = 0;        // Of the workers' time, 0 to 1; injected sleep included.
  double injected_share = 0;       // Of the workers' time, 0 to 1: slept on purpose.
  double samples_per_second = 0;   // Committed.
  std::optional<double> accuracy;  // Held-out, of the last evaluation, 0 to 1.
  double bytes_per_step = 0;       // Pushed and pulled by all workers.
  double dropped = 0;              // Share of the samples computed that were not used.
  double cores = 0;         // CPU time of all processes of the job by wall time, while it trained.
  double load_average = 0;  // Of the machine, over the last minute, at the end.
  std::string problem;      // Why there is nothing better to say; empty if all is well.
  RunSeries series;

  bool counts() const { return problem.empty() && cores < kCoresMax; }
};

// Of the runs of one arm that count and reached the goal.
struct Range {
  double least = 0;
  double median = 0;
  double most = 0;
  size_t runs = 0;
};

Range SecondsToTarget(const std::vector<ArmRun>& runs, const std::string& scheme);

enum class Verdict {
  kFaster,      // Each run of the arm was faster than every run of the other.
  kSlower,      // Likewise.
  kOverlap,     // Neither: no win, whatever the medians say.
  kTooFewRuns,  // One run has no range; and runs that do not count or miss the goal are none.
};
const char* ToString(Verdict verdict);

// How `arm` stands against `other`. A run that counts and missed the goal took longer than any.
Verdict Judge(const std::vector<ArmRun>& runs, const std::string& arm, const std::string& other);

// One sentence: which arm won against all others, or why none did.
std::string WinnerInWords(const std::vector<ArmRun>& runs);

// The arms' names in the order of their first runs.
std::vector<std::string> ArmsOf(const std::vector<ArmRun>& runs);

}  // namespace paceline::compare
