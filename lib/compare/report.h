// Writes what a comparison came to: a table for people, JSON and CSV for programs.
#pragma once

#include <string>
#include <vector>

#include "lib/compare/verdict.h"

namespace paceline::compare {

// One row an arm, medians with their ranges; then how each arm stands against the first one, and
// who won. `goal` says what the times lead to, such as "Accuracy >= 0.97".
std::string TableText(const std::vector<ArmRun>& runs, const std::string& goal);

// A list of runs on one line: scheme, seed, reached, seconds_to_target (null if it was not
// reached), steps, step_seconds_p50, compute_share, samples_per_second, dropped, and beside them
// injected_share, cores, accuracy (null if there is none), bytes_per_step, load_average, counts,
// problem (null if there was none).
std::string RunsJson(const std::vector<ArmRun>& runs);

// The same with a header; what is null is empty.
std::string RunsCsv(const std::vector<ArmRun>& runs);

}  // namespace paceline::compare
