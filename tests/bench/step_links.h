// Defines RunLinks: the table of bench_step for links between machines.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/step_runs.h"

namespace paceline::bench {

struct LinksOptions {
  StepTask task;
  StepPlaces places;
  int rounds = 3;
  std::vector<double> gigabits = {1, 2.5};  // Of a worker's link, a second.
};

// Prints a table for each rate and adds its rows. True if the losses of what travels exactly are
// DDP's, by `loss_difference_max` at the last step. The reason, and nothing printed but that, if
// links cannot be made here.
StatusOr<bool> RunLinks(const LinksOptions& options, double loss_difference_max,
                        nlohmann::ordered_json& json);

}  // namespace paceline::bench
