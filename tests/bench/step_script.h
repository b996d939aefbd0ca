// Defines RunScripts: the table of bench_step for scripts in the place of paceline-worker.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/step_runs.h"

namespace paceline::bench {

// What makes those programs lies in tests/python/host, in `source`; they begin in `build`.
struct ScriptPlaces {
  std::string source, build;
};

// Each task by paceline-worker and by a Python script that hosts the same loop
// (tests/python/host), without copies and with them. Prints tables and adds their
// rows. False if losses differ by more than `loss_difference_max` at the last step.
bool RunScripts(const std::vector<StepTask>& tasks, const StepPlaces& places,
                const ScriptPlaces& scripts, int rounds, double loss_difference_max,
                nlohmann::ordered_json& json);

}  // namespace paceline::bench
