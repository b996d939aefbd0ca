// Defines SimulateAll: every life of a scenario, and what is written of them beside the table.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "simulator/report/report.h"
#include "simulator/scenario/scenario.h"

namespace paceline::simulator {

// Where what is written goes; empty: nowhere.
struct Records {
  std::string traces;     // A folder that is there: each life's policy trace, ARM-SEED.trace.
  std::string timelines;  // Likewise, for ui.perfetto.dev: ARM-SEED.json.
  std::string plot;       // A file: loss, and pushes of a version, over time, as SVG.
};

// Shows on a terminal how far it is. NotFound, with its name, for what cannot be written; the
// errors of a life.
StatusOr<std::vector<Row>> SimulateAll(const Scenario& scenario, const Records& records);

}  // namespace paceline::simulator
