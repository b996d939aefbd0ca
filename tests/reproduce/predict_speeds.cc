// What the predictors of lib/sync say of a worker's next step, for tests/reproduce/predictors.py.
//
//   predict_speeds < STEPS
//
// A line of STEPS is a step's speed, in samples per second, and the share of the processor that was
// free when it was over; before a line of `-` alone another worker's steps end. Of each step a
// line: what the mean and NARX had said of it, 0 where nothing was known.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "lib/sync/schemes/batching/speed_predictor.h"

int main() {
  using paceline::sync::Signals;
  using paceline::sync::SpeedPredictor;
  SpeedPredictor mean({.has_network = false}), narx({.has_network = true});
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "-") {
      mean = SpeedPredictor({.has_network = false});
      narx = SpeedPredictor({.has_network = true});
      continue;
    }
    std::istringstream fields(line);
    double speed = 0, share = 0;
    if (!(fields >> speed >> share) || speed <= 0) {
      std::fprintf(stderr, "not a speed and a share: %s\n", line.c_str());
      return 1;
    }
    std::printf("%.17g %.17g\n", mean.predicted(), narx.predicted());
    const Signals signals{.cpu_available = share, .memory_available = {}};
    mean.Measured(speed, signals);
    narx.Measured(speed, signals);
    while (narx.network()->trainings_due() > 0) narx.network()->Train();
  }
}
