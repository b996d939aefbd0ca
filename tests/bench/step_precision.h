// Defines RunPrecision: the table of bench_step for reduced precision.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/bench/step_runs.h"

namespace paceline::bench {

// `task`, of one worker, in Float32, BFloat16 and Float16, beside PyTorch's own loop with autocast
// and GradScaler. Losses are held against those of PyTorch in Float32. Prints a table and adds its
// rows. True if those in Float32 agree, by `loss_difference_max` at the last step.
bool RunPrecision(const StepTask& task, const StepPlaces& places, const Transport& transport,
                  int rounds, double loss_difference_max, nlohmann::ordered_json& json);

}  // namespace paceline::bench
