// Defines what is said of simulated lives: a table for people, JSON and CSV for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/driver/cluster.h"

namespace paceline::simulator {

// One life, in figures.
struct Row {
  std::string arm;
  uint64_t seed = 0;
  Ending ending = Ending::kSteps;
  double seconds = 0;  // Of virtual time, until it ended.
  uint64_t steps = 0;
  double step_seconds = 0;  // Mean.
  double loss = 0;          // At the end.
  double pushes_a_step = 0;
  uint64_t dropped = 0, interrupted = 0;
  double computing = 0;  // Of all workers' time, 0 to 1; the rest is waiting and transfers...
  double wasted = 0;     // ...and of computing, what came to nothing.
};

Row RowOf(const std::string& arm, uint64_t seed, size_t workers, const Life& life);

// One line an arm, in the order in which they come: medians over its seeds, of the time the least
// and the most too, and how many times as fast as the first arm it is in the median, seed by seed.
// Arms of which a life did not end as the first arm's of that seed did (at the target, say) are not
// compared: they are said to have failed so often.
std::string TableText(const std::vector<Row>& rows);
// A list of rows on one line, and the same as CSV with a header: arm, seed, ending, seconds, steps,
// step_seconds, loss, pushes_a_step, dropped, interrupted, computing, wasted.
std::string RowsJson(const std::vector<Row>& rows);
std::string RowsCsv(const std::vector<Row>& rows);

}  // namespace paceline::simulator
