// Defines ScenarioText: a fitted cluster as a Scenario's file, for people to change.
#pragma once

#include <string>

#include "simulator/calibration/fit.h"
#include "simulator/calibration/recording.h"

namespace paceline::simulator {

// `sync` is the recorded job's spec.sync in JSON, which becomes the arm "recorded"; empty: unknown,
// and there is no such arm. `source` is what it was read from, for the comment.
std::string ScenarioText(const Recording& recording, const FittedCluster& cluster,
                         const std::string& sync, const std::string& source);

}  // namespace paceline::simulator
